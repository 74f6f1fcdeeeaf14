/** A new API key: its secret is drawn in this tab, and the vault is given its digest alone. */
import type { OperationInput } from '../../../index.ts'
import { ApiError, perform } from '../../app/api.ts'
import { base64url } from '../../app/base64url.ts'

/** What a key is called and may do, and when it ends, in milliseconds since 1970. */
export type NewKey = Omit<OperationInput<'createCredential'>, 'kind' | 'verifier'>

const SECRET_BYTES = 32
/** Characters of the checksum. */
const CHECKSUM = 6

/** Makes a key, and returns its text, which is shown once. Throws `ApiError`. */
export async function makeApiKey(key: NewKey): Promise<string> {
  if (!isSecureContext) throw new ApiError('A key is made on pages over HTTPS, or of this machine. Open the console there.')
  const secret = base64url(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)))
  const verifier = Array.from(await sha256(secret), (byte) => byte.toString(16).padStart(2, '0')).join('')
  const { keyId } = await perform('createCredential', { ...key, kind: 'API_KEY', verifier })
  const unchecked = `sr_${keyId}_${secret}`
  return unchecked + base64url(await sha256(unchecked)).slice(0, CHECKSUM)
}

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}
