/** Responses with a JSON body. */
import type { HttpResponse } from './http-message.ts'

/** Returns a response whose body is JSON. */
export function jsonResponse(status: number, body: unknown): HttpResponse {
  return { status, headers: JSON_HEADERS, body: JSON.stringify(body) }
}

/** The headers of such a response. */
export const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' } as const
