/** The URLs in responses, and the Host header of which they are made. */

import { VaultError } from '../../index.ts'
import type { HttpRequest } from './http-message.ts'
import type { Call } from './route.ts'

/** What an URL depends on. */
export type UrlCall = Pick<Call, 'options' | 'request' | 'params'>

/** The path at which tickets are redeemed: a ticket alone does not say in which vault it was issued. */
export const TICKET_PATH = '/v1/files/{vaultID}/{ticket}'

/** Returns the URL at which a ticket of the vault of this request is redeemed. */
export function fileUrl(call: UrlCall, ticket: string): string {
  return `${baseUrlOf(call)}/v1/files/${encodeURIComponent(call.params.vaultID ?? '')}/${encodeURIComponent(ticket)}`
}

/** Returns the URL under which the routes begin: that of the options, or the one of the request. */
export function baseUrlOf({ options, request }: Pick<UrlCall, 'options' | 'request'>): string {
  const origin = options.origin ?? `${request.scheme}://${hostOf(request)}`
  return `${origin}${options.basePath === '' ? request.mountPath : options.basePath}`
}

/** A name or an address, and a port or not. It has no user name, no path and no second value. */
const HOST = /^(?:[a-z\d._~-]{1,255}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i

/** Throws `invalid_request` for a Host header that is not one host: a URL made of it would lead anywhere. */
export function assertHost(request: Pick<HttpRequest, 'header'>): void {
  const host = request.header('host') ?? ''
  if (host === '' || HOST.test(host)) return
  throw new VaultError('invalid_request', 'The Host header is not one host with or without a port.')
}

/** Returns the host of a request; `localhost` if it names none. */
function hostOf(request: Pick<HttpRequest, 'header'>): string {
  return request.header('host') || 'localhost'
}
