/** Verifies the signatures of receipts, which say what was deleted when a subject was forgotten. */
import { type Receipt, receiptBytes } from '../core/audit/receipt.ts'
import { createVerifiers, isSignatureOf, type VerifierKey } from './checkpoints.ts'

/**
 * Returns true if a receipt, as `vault.subjects.forget` returned it or parsed from its JSON text, is signed by one of the keys. A receipt without a signature
 * is not. Throws `invalid_request` for an invalid key.
 */
export function isReceiptSigned(receipt: Receipt, keys: readonly VerifierKey[]): boolean {
  const verifiers = createVerifiers(keys)
  const { signature } = receipt
  return signature !== undefined && isSignatureOf(() => receiptBytes(receipt), signature, verifiers)
}
