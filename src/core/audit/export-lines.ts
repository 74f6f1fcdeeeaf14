/** The audit trail as lines of JSON, to be kept and checked elsewhere: header, heads, checkpoints, events, and an end that counts them. */
import type { Hash } from '../ports/hash.ts'
import { readUtf8, toHex } from '../util/bytes.ts'
import type { JsonValue } from '../values/column-type.ts'
import { jsonCanonical } from '../values/json-canonical.ts'
import type { LaneMark } from './chain-check.ts'
import type { SignedCheckpoint } from './checkpoint.ts'
import { hashLeaf } from './merkle.ts'

/** Names the format in its first line. */
export const EXPORT_FORMAT = 'audit-export'

/** How many lines of each sort an export has. */
export interface ExportCounts {
  readonly heads: number
  readonly checkpoints: number
  readonly events: number
}

/** The first line. */
export function headerLine(vaultID: string): string {
  return jsonCanonical({ strongroom: EXPORT_FORMAT, v: 1, vaultID })
}

/** One line for each lane, lowest first. Heads come before events, so that the end of every lane is known when it is come to. */
export function headLine({ lane, sequence, digest, root }: LaneMark): string {
  return jsonCanonical({ head: { lane, sequence, digest, root } })
}

/** One line for each checkpoint, oldest first. */
export function checkpointLine({ checkpoint, keyId, signature }: SignedCheckpoint): string {
  const { lanes, ...rest } = checkpoint
  return jsonCanonical({ checkpoint: { checkpoint: { ...rest, lanes: lanes.map((lane) => ({ ...lane })) }, keyId, signature } })
}

/** One line for each event, by lane and place. The event's own text stands in it unchanged: it is what the digest is of. */
export function eventLine(hash: Hash, bytes: Uint8Array): string {
  return `{"digest":"${toHex(hashLeaf(hash, bytes))}","event":${readUtf8(bytes, 0, bytes.length)}}`
}

/** The last line. */
export function endLine({ heads, checkpoints, events }: ExportCounts): string {
  const line: JsonValue = { end: true, heads, checkpoints, events }
  return jsonCanonical(line)
}
