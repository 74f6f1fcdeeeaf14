/** Parses single lines of an export. */
import * as z from 'zod'
import type { TreeHead } from '../core/audit/chain-verifier.ts'
import type { SignedCheckpoint } from '../core/audit/checkpoint.ts'
import { parseCheckpoint } from '../core/audit/checkpoint.ts'
import type { ExportCounts } from '../core/audit/export-lines.ts'
import { EXPORT_FORMAT } from '../core/audit/export-lines.ts'
import { MAX_CHAINS } from '../core/limits.ts'
import { required } from '../core/util/at.ts'
import { ByteWriter } from '../core/util/bytes.ts'
import { jsonCanonical } from '../core/values/json-canonical.ts'

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

const hex = z.string().regex(/^[0-9a-f]{64}$/)
const count = z.int().min(0)

const lineShape = z.union([
  z.strictObject({ strongroom: z.literal(EXPORT_FORMAT), v: z.literal(1), vaultID: z.string() }),
  z.strictObject({
    head: z.strictObject({ chain: z.int().min(1).max(MAX_CHAINS), sequence: z.int().min(1), digest: hex, root: hex }),
  }),
  z.strictObject({ checkpoint: z.unknown() }),
  z.strictObject({ end: z.literal(true), heads: count, checkpoints: count, events: count }),
])

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
  const line = parsedLine(text)
  if (line === undefined) return { kind: 'fault', problem: 'is not a line of an export in canonical form' }
  if ('strongroom' in line) return { kind: 'header', vaultID: line.vaultID }
  if ('head' in line) return { kind: 'head', head: line.head }
  if ('end' in line) return { kind: 'end', counts: line }
  const signed = parseCheckpoint(line.checkpoint)
  return signed === undefined ? { kind: 'fault', problem: 'has an invalid checkpoint' } : { kind: 'checkpoint', signed }
}

/** Returns a line as JSON data; undefined if it is not canonical. Only one form is valid, so that all JSON parsers read the same. */
function parsedLine(text: string): z.infer<typeof lineShape> | undefined {
  try {
    const json = JSON.parse(text)
    return jsonCanonical(json) === text ? lineShape.parse(json) : undefined
  } catch {
    return undefined
  }
}
