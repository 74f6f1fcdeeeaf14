/** The Host header of a request, of which the URLs in responses are made. */
import { VaultError } from '../../index.ts'
import type { HttpRequest } from './http-message.ts'

/** A name or an address, and a port or not. It has no user name, no path and no second value. */
const HOST = /^(?:[a-z\d._~-]{1,255}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i

/** Throws `invalid_request` for a Host header that is not one host: a URL made of it would lead anywhere. */
export function assertHost(request: Pick<HttpRequest, 'header'>): void {
  const host = request.header('host') ?? ''
  if (host === '' || HOST.test(host)) return
  throw new VaultError('invalid_request', 'The Host header is not one host with or without a port.')
}

/** Returns the host of a request; `localhost` if it names none. */
export function hostOf(request: Pick<HttpRequest, 'header'>): string {
  return request.header('host') || 'localhost'
}
