/** Reads stored checkpoints, and verifies their signatures with public keys. */
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { checkpointBytes, parseCheckpoint, type SignedCheckpoint, signatureBytes } from '../core/audit/checkpoint.ts'
import { VaultError } from '../core/errors.ts'
import type { SignatureVerifier } from '../core/ports/crypto.ts'
import { assertOptions } from '../core/util/options.ts'
import { assertNotNewer, hasLabel, signatureAlgorithmOf } from '../core/util/pem.ts'

/** A public key. */
export interface VerifierKey {
  /** Name of the key, as in the checkpoints it signed. */
  readonly keyId: string
  /** An Ed25519 or ML-DSA-65 public key as PEM text (SPKI). The latter needs Node 24.7 or newer. */
  readonly publicKey: string
}

/** Returns a verifier for each key, in order. Throws `invalid_request` for an invalid key, with its index in the details, and `failed_precondition` for one that this runtime cannot use. */
export function createVerifiers(keys: readonly VerifierKey[]): SignatureVerifier[] {
  return keys.map((given, index) => {
    assertOptions<VerifierKey>(given, ['keyId', 'publicKey'], { of: 'verifyExport', member: `keys[${index}]` })
    const { keyId, publicKey } = given
    const key = parsePem(publicKey)
    const algorithm = signatureAlgorithmOf(key?.asymmetricKeyType)
    if (key !== undefined && algorithm !== undefined)
      return { keyId, algorithm, verify: (bytes, signature) => verify(null, bytes, key, signature) }
    const name = `keys[${index}].publicKey`
    if (hasLabel(publicKey, 'PUBLIC KEY')) assertNotNewer(publicKey, 'ML-DSA-65', name)
    const rule = `${name} must be an Ed25519 or ML-DSA-65 public key in PEM format (SPKI).`
    throw new VaultError('invalid_request', rule, { index })
  })
}

/** True if one of the keys signed this checkpoint. */
export function isSigned(signed: SignedCheckpoint, verifiers: readonly SignatureVerifier[]): boolean {
  return isSignatureOf(() => checkpointBytes(signed.checkpoint), signed, verifiers)
}

/** True if one of the keys made this signature of some bytes. */
export function isSignatureOf(
  bytesOf: () => Uint8Array,
  signed: Omit<SignedCheckpoint, 'checkpoint'>,
  verifiers: readonly SignatureVerifier[],
): boolean {
  const signature = signatureBytes(signed)
  if (signature === undefined) return false
  const bytes = bytesOf()
  return verifiers.some(
    ({ keyId, algorithm, verify }) => keyId === signed.keyId && algorithm === signed.algorithm && verify(bytes, signature),
  )
}

function parsePem(pem: unknown): KeyObject | undefined {
  try {
    return typeof pem === 'string' ? createPublicKey(pem) : undefined
  } catch {
    return undefined
  }
}

/** Returns the checkpoint of its JSON text. Throws `invalid_request` for other text. Does not check the signature: `verifyExport` does. */
export function readCheckpoint(text: string): SignedCheckpoint {
  const checkpoint = parseCheckpoint(parsed(text))
  if (checkpoint === undefined) {
    throw new VaultError('invalid_request', 'Not an audit checkpoint. Pass the complete stored text.')
  }
  return checkpoint
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
