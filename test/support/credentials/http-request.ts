/** A request of the router with given headers. */
import type { HttpRequest } from '../../../src/http/router/http-message.ts'

/** Returns a request from an address. Names of headers are in lower case. */
export function requestFrom(address: string, headers: Readonly<Record<string, string>> = {}): HttpRequest {
  return {
    method: 'GET',
    target: '/',
    header: (name) => (Object.hasOwn(headers, name) ? headers[name] : undefined),
    body: undefined,
    address,
    mountPath: '',
    scheme: 'http',
    signal: () => new AbortController().signal,
  }
}
