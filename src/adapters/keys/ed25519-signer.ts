/** Signs checkpoints of the audit trail with an Ed25519 key the application holds. */
import type { KeyObject } from 'node:crypto'
import { createPrivateKey, sign } from 'node:crypto'
import { VaultError } from '../../core/errors.ts'
import type { Signer } from '../../core/ports/signer.ts'

/** Characters the name of a key may have. */
const MAX_KEY_ID_LENGTH = 128

/** The key and its name. */
export interface Ed25519SignerOptions {
  /** Names the key in every checkpoint, so that a verifier knows which public key to take; 1 to 128 characters. */
  readonly keyId: string
  /** The private key as PEM text (PKCS #8). */
  readonly privateKey: string
}

/** A signer (RFC 8032). Throws `invalid_request` when the key is no Ed25519 key in PEM. */
export function ed25519Signer({ keyId, privateKey }: Ed25519SignerOptions): Signer {
  if (typeof keyId !== 'string' || keyId === '' || keyId.length > MAX_KEY_ID_LENGTH) {
    throw new VaultError('invalid_request', `ed25519Signer: \`keyId\` must be a string of 1 to ${MAX_KEY_ID_LENGTH} characters.`)
  }
  const key = readKey(privateKey)
  return { keyId, sign: async (bytes) => new Uint8Array(sign(null, bytes, key)) }
}

function readKey(privateKey: unknown): KeyObject {
  const key = typeof privateKey === 'string' ? parsePem(privateKey) : undefined
  if (key?.asymmetricKeyType !== 'ed25519') {
    throw new VaultError('invalid_request', 'ed25519Signer: `privateKey` must be an Ed25519 private key as PEM text (PKCS #8).')
  }
  return key
}

/** The library's own error is dropped: it may quote what it could not read. */
function parsePem(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}
