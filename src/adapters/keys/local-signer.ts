/** The signer of checkpoints that an application has without a key service. */
import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { VaultError } from '../../core/errors.ts'
import type { Signer } from '../../core/ports/crypto.ts'
import { readOptions } from '../../core/util/options.ts'
import { assertNotNewer, hasLabel, signatureAlgorithmOf } from '../../core/util/pem.ts'

/** Maximum length of a key name, in UTF-16 units. */
const MAX_KEY_ID_LENGTH = 128

/** The key, and its name. */
export interface LocalSignerOptions {
  /** Name of the key in checkpoints, 1 to 128 characters. A verifier selects the public key by it. */
  readonly keyId: string
  /** The private key as PEM text (PKCS #8): an Ed25519 key, or an ML-DSA-65 key, which needs Node 24.7 or newer. */
  readonly privateKey: string
}

/**
 * Returns a signer. Throws `invalid_request` if the key is neither an Ed25519 nor an ML-DSA-65 key in PEM, and `failed_precondition` if this
 * runtime lacks its algorithm. Sources: RFC 8032; FIPS 204.
 */
export function localSigner(options: LocalSignerOptions): Signer {
  const { keyId, privateKey } = readOptions(options, ['keyId', 'privateKey'], { of: 'localSigner' })
  if (typeof keyId !== 'string' || keyId === '' || keyId.length > MAX_KEY_ID_LENGTH) {
    throw new VaultError('invalid_request', `localSigner: \`keyId\` must be a string of 1 to ${MAX_KEY_ID_LENGTH} characters.`)
  }
  const key = typeof privateKey === 'string' ? parsePem(privateKey) : undefined
  const algorithm = signatureAlgorithmOf(key?.asymmetricKeyType)
  if (key !== undefined && algorithm !== undefined)
    return { keyId, algorithm, sign: async (bytes) => new Uint8Array(sign(null, bytes, key)) }
  if (hasLabel(privateKey, 'PRIVATE KEY')) assertNotNewer(privateKey, 'ML-DSA-65', 'localSigner: `privateKey`')
  throw new VaultError(
    'invalid_request',
    'localSigner: `privateKey` must be an Ed25519 or ML-DSA-65 private key as PEM text (PKCS #8).',
  )
}

/** Returns the key; undefined if it cannot be parsed. The error of the library is dropped, because it can quote its input. */
function parsePem(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}
