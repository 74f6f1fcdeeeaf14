/** Verifies the signatures of receipts, which say what was deleted when a subject was forgotten. */
import { signatureBytes } from '../core/audit/checkpoint.ts'
import { type Receipt, receiptBytes } from '../core/audit/receipt.ts'
import { createVerifiers, type VerifierKey } from './checkpoints.ts'

/**
 * Returns true if a receipt, as `vault.subjects.forget` returned it or parsed from its JSON text, is signed by one of the keys. A receipt without a signature
 * is not. Throws `invalid_request` for an invalid key.
 */
export function isReceiptSigned(receipt: Receipt, keys: readonly VerifierKey[]): boolean {
  const verifiers = createVerifiers(keys)
  const { signature: signed } = receipt
  const signature = signed === undefined ? undefined : signatureBytes(signed)
  if (signed === undefined || signature === undefined) return false
  const bytes = receiptBytes(receipt)
  return verifiers.some(
    ({ keyId, algorithm, verify }) => keyId === signed.keyId && algorithm === signed.algorithm && verify(bytes, signature),
  )
}
