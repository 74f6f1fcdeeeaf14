/** The URLs in responses. */
import type { Call } from './route.ts'

/** Returns the URL at which a ticket is redeemed. */
export function fileUrl({ options, request }: Pick<Call, 'options' | 'request'>, ticket: string): string {
  const origin = options.origin ?? `${request.scheme}://${request.header('host') ?? 'localhost'}`
  return `${origin}${options.basePath === '' ? request.mountPath : options.basePath}/v1/files/${ticket}`
}
