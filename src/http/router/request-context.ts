/** The origin of a request, as events record it. */
import { randomUUID } from 'node:crypto'
import type { RequestContext } from '../../index.ts'
import type { HttpRequest } from './http-message.ts'

/** Trusted proxies. */
export type TrustedProxies = readonly string[]

/** Returns the context. */
export function readRequestContext(
  request: HttpRequest,
  _options: { readonly trustedProxies?: TrustedProxies | undefined },
): RequestContext & { readonly requestID: string } {
  return { requestID: randomUUID(), ipAddress: request.address }
}
