/** Responses with a JSON body. */
import type { HttpResponse } from './http-message.ts'
import { jsonBody } from './json-body.ts'

/** Returns a response whose body is JSON that can be long. Without a promise if it is short. */
export function longJsonResponse(status: number, body: unknown): HttpResponse | Promise<HttpResponse> {
  const text = jsonBody(body)
  if (text instanceof Promise) return text.then((bytes) => ({ status, headers: JSON_HEADERS, body: bytes }))
  return { status, headers: JSON_HEADERS, body: text }
}

/** Returns a response whose body is short JSON. */
export function jsonResponse(status: number, body: unknown): HttpResponse {
  return { status, headers: JSON_HEADERS, body: JSON.stringify(body) }
}

/** The headers of such a response. */
export const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' } as const
