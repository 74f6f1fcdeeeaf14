/** Writes the lines of an export of the audit trail: header, heads, checkpoints, events and end. */
import type { Hash } from '../ports/crypto.ts'
import { type ByteWriter, readUtf8, toHex } from '../util/bytes.ts'
import type { JsonValue } from '../values/column-type.ts'
import { jsonCanonical } from '../values/json-types.ts'
import type { TreeHead } from './chain-verifier.ts'
import { checkpointJson, type SignedCheckpoint } from './checkpoint.ts'
import { hashPrefixed } from './merkle.ts'

/** Name of the format in the header. */
export const EXPORT_FORMAT = 'audit-export'

/** Number of lines of an export by kind. */
export interface ExportCounts {
  readonly heads: number
  readonly checkpoints: number
  readonly events: number
}

/** Returns the first line. */
export function headerLine(vaultID: string): string {
  return jsonCanonical({ strongroom: EXPORT_FORMAT, v: 1, vaultID })
}

/** Returns the line of a chain head. Heads come before events, lowest chain first, so that a verifier knows where every chain ends. */
export function headLine({ chain, sequence, digest, root }: TreeHead): string {
  return jsonCanonical({ head: { chain, sequence, digest, root } })
}

/** Returns the line of a checkpoint. Checkpoints are in order of time. */
export function checkpointLine({ checkpoint, keyId, signature }: SignedCheckpoint): string {
  return jsonCanonical({ checkpoint: { checkpoint: checkpointJson(checkpoint), keyId, signature } })
}

/**
 * Returns the line of the event whose leaf was written. Events are in order of chain and sequence number. The line has the canonical text,
 * because the digest is of it.
 */
export function eventLine(hash: Hash, leaf: ByteWriter): string {
  return `{"digest":"${toHex(hashPrefixed(hash, leaf))}","event":${readUtf8(leaf.bytes, 1, leaf.length)}}`
}

/** Returns the last line. */
export function endLine({ heads, checkpoints, events }: ExportCounts): string {
  const line: JsonValue = { end: true, heads, checkpoints, events }
  return jsonCanonical(line)
}
