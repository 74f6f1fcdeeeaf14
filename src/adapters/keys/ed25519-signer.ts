/** Signs audit checkpoints with an Ed25519 key that the application has in memory. */
import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { VaultError } from '../../core/errors.ts'
import type { Signer } from '../../core/ports/crypto.ts'
import { readOptions } from '../../core/util/options.ts'

/** Maximum length of a key name, in UTF-16 units. */
const MAX_KEY_ID_LENGTH = 128

/** The key, and its name. */
export interface Ed25519SignerOptions {
  /** Name of the key in checkpoints, 1 to 128 characters. A verifier selects the public key by it. */
  readonly keyId: string
  /** The private key as PEM text (PKCS #8). */
  readonly privateKey: string
}

/** Returns a signer. Throws `invalid_request` if the key is not an Ed25519 key in PEM. Source: RFC 8032. */
export function ed25519Signer(options: Ed25519SignerOptions): Signer {
  const { keyId, privateKey } = readOptions(options, ['keyId', 'privateKey'], { of: 'ed25519Signer' })
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

/** Returns the key; undefined if it cannot be parsed. The error of the library is dropped, because it can quote its input. */
function parsePem(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}
