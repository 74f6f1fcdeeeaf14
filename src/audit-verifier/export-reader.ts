/** Parses single lines of an export. */
import type { TreeHead } from '../core/audit/chain-verifier.ts'
import { parseCheckpoint, type SignedCheckpoint } from '../core/audit/checkpoint.ts'
import { EXPORT_FORMAT, type ExportCounts } from '../core/audit/export-lines.ts'
import { MAX_CHAINS } from '../core/limits.ts'
import { ByteWriter } from '../core/util/bytes.ts'
import { required } from '../core/util/lists.ts'
import { text as anyText, integer, matching, objectOf, oneOf } from '../core/util/options.ts'
import { jsonCanonical } from '../core/values/json-types.ts'

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

const hex = matching(/^[0-9a-f]{64}$/)
const count = integer(0)

const headerShape = objectOf({ strongroom: oneOf([EXPORT_FORMAT]), v: oneOf([1]), vaultID: anyText })
const headShape = objectOf({
  head: objectOf({ chain: integer(1, MAX_CHAINS), sequence: integer(1), digest: hex, root: hex }),
})
const checkpointShape = objectOf({ checkpoint: (value: unknown) => value })
const endShape = objectOf({ end: oneOf([true]), heads: count, checkpoints: count, events: count })

/** Returns a parsed line. Never throws. */
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
