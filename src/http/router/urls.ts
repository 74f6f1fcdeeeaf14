/** The URLs in responses. */
import type { Call } from './route.ts'

/** What an URL depends on. */
export type UrlCall = Pick<Call, 'options' | 'request' | 'params'>

/** The path at which tickets are redeemed: a ticket alone does not say in which vault it was issued. */
export const TICKET_PATH = '/v1/files/{vaultID}/{ticket}'

/** Returns the URL at which a ticket of the vault of this request is redeemed. */
export function fileUrl({ options, request, params }: UrlCall, ticket: string): string {
  const origin = options.origin ?? `${request.scheme}://${request.header('host') ?? 'localhost'}`
  const mounted = options.basePath === '' ? request.mountPath : options.basePath
  return `${origin}${mounted}/v1/files/${encodeURIComponent(params.vaultID ?? '')}/${encodeURIComponent(ticket)}`
}
