/** The URLs in responses. */
import { hostOf } from './host-header.ts'
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
