/** Checks signatures of checkpoints by public keys. */
import type { KeyObject } from 'node:crypto'
import { createPublicKey, verify } from 'node:crypto'
import type { SignedCheckpoint } from '../core/audit/checkpoint.ts'
import { checkpointBytes, signatureBytes } from '../core/audit/checkpoint.ts'
import { VaultError } from '../core/errors.ts'
import type { SignatureVerifier } from '../core/ports/signer.ts'

/** A public key and the name checkpoints call it by. */
export interface VerifierKey {
  readonly keyId: string
  /** An Ed25519 public key as PEM text (SPKI). */
  readonly publicKey: string
}

/** The keys at work. Throws `invalid_request` naming the one that is none. */
export function createVerifiers(keys: readonly VerifierKey[]): SignatureVerifier[] {
  return keys.map(({ keyId, publicKey }, index) => {
    const key = parsePem(publicKey)
    if (key?.asymmetricKeyType !== 'ed25519') {
      throw new VaultError('invalid_request', `Key ${index} to check with must be an Ed25519 public key as PEM text (SPKI).`, {
        index,
      })
    }
    return { keyId, verify: (bytes, signature) => verify(null, bytes, key, signature) }
  })
}

/** True when one of the keys signed this checkpoint. */
export function isSigned(signed: SignedCheckpoint, verifiers: readonly SignatureVerifier[]): boolean {
  const signature = signatureBytes(signed)
  if (signature === undefined) return false
  const bytes = checkpointBytes(signed.checkpoint)
  return verifiers.some((verifier) => verifier.keyId === signed.keyId && verifier.verify(bytes, signature))
}

function parsePem(pem: unknown): KeyObject | undefined {
  try {
    return typeof pem === 'string' ? createPublicKey(pem) : undefined
  } catch {
    return undefined
  }
}
