/** Reads a JSON body. */
import { VaultError } from '../../index.ts'
import type { HttpRequest } from '../router/http-message.ts'

/** Returns the body; undefined for an empty one. */
export async function readJsonBody(request: HttpRequest, { maxBytes }: { readonly maxBytes: number }): Promise<unknown> {
  if (request.body === undefined) return undefined
  if (request.body.parsed !== undefined) return request.body.parsed.value
  const bytes = await request.body.read(maxBytes)
  if (bytes.length === 0) return undefined
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    throw new VaultError('invalid_request', 'The body must be JSON.')
  }
}
