/** The headers of every response. */
import type { HttpResponse } from './http-message.ts'

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
} as const

/** Returns a response with the id of its request and the headers that every response has. A route can set its own content policy. */
export function sealed(response: HttpResponse, requestID: string): HttpResponse {
  return { ...response, headers: { ...HEADERS, ...response.headers, 'x-request-id': requestID } }
}
