/** Calls from pages of other origins: what browsers ask before a request, and the headers by which a page may read the answer. */
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Answers a preflight, or adds to the headers of an answer. Returns true if the request is answered. */
export type CrossOrigin = (request: IncomingMessage, response: ServerResponse) => boolean

/** Headers that a page may send. */
const REQUEST_HEADERS =
  'authorization, content-disposition, content-type, idempotency-key, range, traceparent, x-client-trace-id, x-purpose, x-request-id'
/** Headers that a page may read. */
const RESPONSE_HEADERS = 'content-disposition, content-range, retry-after, x-request-id'
const METHODS = 'GET, HEAD, POST, PUT, DELETE'
/** Time for which a browser does not ask again, in seconds. */
const MAX_AGE = '600'

/** Returns what is done for pages of these origins; `*` stands for all. Cookies are never read, so credentials of browsers are not allowed. */
export function createCrossOrigin(origins: readonly string[]): CrossOrigin {
  if (origins.length === 0) return () => false
  const known = new Set(origins)
  return (request, response) => {
    const { origin } = request.headers
    const isPreflight = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined
    response.setHeader('vary', 'origin')
    if (origin !== undefined && (known.has(origin) || known.has('*'))) {
      response.setHeader('access-control-allow-origin', origin)
      if (isPreflight) {
        response.setHeader('access-control-allow-methods', METHODS)
        response.setHeader('access-control-allow-headers', REQUEST_HEADERS)
        response.setHeader('access-control-max-age', MAX_AGE)
      } else response.setHeader('access-control-expose-headers', RESPONSE_HEADERS)
    }
    if (!isPreflight) return false
    // Without the headers above, the browser does not send the request.
    response.writeHead(204).end()
    return true
  }
}
