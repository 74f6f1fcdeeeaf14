/** The lines of an export of the audit trail: header, heads, checkpoints, events and end. */

import { MAX_CHAINS } from '../limits.ts'
import type { Hash } from '../ports/crypto.ts'
import { ByteWriter, readUtf8, toHex } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { text as anyText, integer, objectOf, oneOf } from '../util/options.ts'
import type { JsonValue } from '../values/column-type.ts'
import { jsonCanonical } from '../values/json-types.ts'
import { hashPrefixed } from './chain.ts'
import type { TreeHead } from './chain-verifier.ts'
import { checkpointJson, hexDigest, parseCheckpoint, type SignedCheckpoint } from './checkpoint.ts'

/** Name of the format in the header. */
const EXPORT_FORMAT = 'audit-export'

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
export function checkpointLine({ checkpoint, keyId, algorithm, signature }: SignedCheckpoint): string {
  return jsonCanonical({ checkpoint: { checkpoint: checkpointJson(checkpoint), keyId, algorithm, signature } })
}

/**
 * Returns the line of the event whose leaf was written. Events of an export are in order of chain and sequence number. The line has the
 * canonical text, because the digest is of it.
 */
export function eventLine(hash: Hash, leaf: ByteWriter): string {
  return lineOf(toHex(hashPrefixed(hash, leaf)), leaf)
}

/** Returns the same line with a digest that is known, in hex digits. */
export function lineOf(digest: string, leaf: ByteWriter): string {
  return `{"digest":"${digest}","event":${readUtf8(leaf.bytes, 1, leaf.length)}}`
}

/** Returns the last line. */
export function endLine({ heads, checkpoints, events }: ExportCounts): string {
  const line: JsonValue = { end: true, heads, checkpoints, events }
  return jsonCanonical(line)
}

/** One parsed line. `problem` is why a line is invalid, as a clause. */
export type ExportLine =
  | { readonly kind: 'header'; readonly vaultID: string }
  | { readonly kind: 'head'; readonly head: TreeHead }
  | { readonly kind: 'checkpoint'; readonly signed: SignedCheckpoint }
  | { readonly kind: 'event'; readonly digest: string; readonly bytes: Uint8Array }
  | { readonly kind: 'end'; readonly counts: ExportCounts }
  | { readonly kind: 'fault'; readonly problem: string }

/** The line of an event: its digest, then its text. The chain verification checks that the text is canonical. */
const EVENT_LINE = /^\{"digest":"([0-9a-f]{64})","event":(\{.*\})\}$/s

const count = integer(0)

const headerShape = objectOf({ strongroom: oneOf([EXPORT_FORMAT]), v: oneOf([1]), vaultID: anyText })
const headShape = objectOf({
  head: objectOf({ chain: integer(1, MAX_CHAINS), sequence: integer(1), digest: hexDigest, root: hexDigest }),
})
const checkpointShape = objectOf({ checkpoint: (value: unknown) => value })
const endShape = objectOf({ end: oneOf([true]), heads: count, checkpoints: count, events: count })

/** Reads a line. Never throws. */
export function readExportLine(text: unknown): ExportLine {
  if (typeof text !== 'string') return { kind: 'fault', problem: 'is not text' }
  const event = EVENT_LINE.exec(text)
  if (event !== null) {
    const [digest, eventText] = [required(event[1], 'The digest of a line'), required(event[2], 'The event of a line')]
    const out = new ByteWriter(eventText.length * 3)
    out.utf8(eventText)
    return { kind: 'event', digest, bytes: out.written() }
  }
  return readOther(canonicalJson(text))
}

/** Returns any other line than an event as what it is. */
function readOther(json: unknown): ExportLine {
  const header = headerShape(json)
  if (header !== undefined) return { kind: 'header', vaultID: header.vaultID }
  const head = headShape(json)
  if (head !== undefined) return { kind: 'head', head: head.head }
  const end = endShape(json)
  if (end !== undefined) return { kind: 'end', counts: end }
  const line = checkpointShape(json)
  if (line === undefined) return { kind: 'fault', problem: 'is not a line of an export in canonical form' }
  const signed = parseCheckpoint(line.checkpoint)
  return signed === undefined ? { kind: 'fault', problem: 'has an invalid checkpoint' } : { kind: 'checkpoint', signed }
}

/** Returns a line as JSON data; undefined if it is not canonical. Only one form is valid, so that all JSON parsers read the same. */
function canonicalJson(text: string): unknown {
  try {
    const json = JSON.parse(text)
    return jsonCanonical(json) === text ? json : undefined
  } catch {
    return undefined
  }
}
