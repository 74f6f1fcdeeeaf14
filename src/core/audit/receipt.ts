/** Receipts: what was deleted when a subject was forgotten and what was not reached, as bytes that a signer signs. */
import type { Hash, Signer } from '../ports/crypto.ts'
import { toHex, toUtf8 } from '../util/bytes.ts'
import { toSlab } from '../util/memory.ts'
import { toBase64 } from '../util/text.ts'
import { jsonCanonical } from '../values/json-types.ts'
import type { SignedCheckpoint } from './checkpoint.ts'

/** Prefix of the signed text, so that a signature of the same key over other text is never valid for a receipt. */
const CONTEXT = 'strongroom/receipt/v1\n'

/** What was deleted when a subject was forgotten, and what was not reached. It has no value of the subject. */
export interface Receipt {
  readonly v: 1
  readonly vaultID: string
  /** The kind of the subject, by its name in the schema. */
  readonly kind: string
  /** A keyed digest of the subject, in hex digits: the same each time until look-up keys are rotated. Only the vault can compute it. */
  readonly subject: string
  /** What the caller said. */
  readonly reason: string
  /** RFC 3339 in UTC. */
  readonly at: string
  /** Deleted records by table. */
  readonly tables: Readonly<Record<string, number>>
  /** Deleted files, with their contents. */
  readonly files: number
  /** Id of the event FORGET. Absent with the audit off. */
  readonly changeID?: string
  /** SHA-256 of the bytes of the receipt before it of the same subject, 64 hex digits. Absent in the first. */
  readonly previous?: string
  /** What still can have something of the subject, in plain words. */
  readonly notReached: readonly string[]
  /** Absent without a signer. */
  readonly signature?: ReceiptSignature
}

/** A signature over the bytes of a receipt, in base64. */
export type ReceiptSignature = Omit<SignedCheckpoint, 'checkpoint'>

/** Returns the bytes to sign: the canonical JSON text of the receipt without its signature, after a prefix. */
export function receiptBytes({ signature: _, ...receipt }: Receipt): Uint8Array {
  return toUtf8(`${CONTEXT}${jsonCanonical({ ...receipt, tables: { ...receipt.tables }, notReached: [...receipt.notReached] })}`)
}

/** Returns what the next receipt of the same subject names this one by. */
export function receiptDigest(hash: Hash, receipt: Receipt): string {
  return toHex(hash.sha256(toSlab([receiptBytes(receipt)])))
}

/** Returns a receipt with the signature of a signer. */
export function signedReceipt(
  receipt: Receipt,
  { keyId, algorithm = 'Ed25519' }: Omit<Signer, 'sign'>,
  signature: Uint8Array,
): Receipt {
  return { ...receipt, signature: { keyId, algorithm, signature: toBase64(signature) } }
}
