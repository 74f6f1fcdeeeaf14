/** Reads an export line by line, in the order its parts must have. */
import { z } from 'zod'
import type { LaneMark } from '../core/audit/chain-check.ts'
import type { SignedCheckpoint } from '../core/audit/checkpoint.ts'
import { parseCheckpoint } from '../core/audit/checkpoint.ts'
import type { ExportCounts } from '../core/audit/export-lines.ts'
import { EXPORT_FORMAT } from '../core/audit/export-lines.ts'
import { MOST_LANES } from '../core/limits.ts'
import { ByteWriter } from '../core/util/bytes.ts'
import { jsonCanonical } from '../core/values/json-canonical.ts'

/** One line as it was understood; `fault` says why a line was not. */
export type ExportLine =
  | { readonly kind: 'header'; readonly vaultID: string }
  | { readonly kind: 'head'; readonly mark: LaneMark }
  | { readonly kind: 'checkpoint'; readonly signed: SignedCheckpoint }
  | { readonly kind: 'event'; readonly digest: string; readonly bytes: Uint8Array }
  | { readonly kind: 'end'; readonly counts: ExportCounts }
  | { readonly kind: 'fault'; readonly fault: string }

/** An event's line: its digest, then its own text, whose way of being written is checked with the chain. */
const EVENT_LINE = /^\{"digest":"([0-9a-f]{64})","event":(\{.*\})\}$/s

const hex = z.string().regex(/^[0-9a-f]{64}$/)
const count = z.int().min(0)

const lineShape = z.union([
  z.strictObject({ strongroom: z.literal(EXPORT_FORMAT), v: z.literal(1), vaultID: z.string() }),
  z.strictObject({
    head: z.strictObject({ lane: z.int().min(1).max(MOST_LANES), sequence: z.int().min(1), digest: hex, root: hex }),
  }),
  z.strictObject({ checkpoint: z.unknown() }),
  z.strictObject({ end: z.literal(true), heads: count, checkpoints: count, events: count }),
])

/** Understands a line by itself. */
export function readExportLine(text: string): ExportLine {
  const event = EVENT_LINE.exec(text)
  if (event !== null) {
    const [, digest = '', eventText = ''] = event
    const out = new ByteWriter(eventText.length * 3)
    out.utf8(eventText)
    return { kind: 'event', digest, bytes: out.written() }
  }
  const line = parsedLine(text)
  if (line === undefined) return { kind: 'fault', fault: 'is no line of an export, or was written in another way' }
  if ('strongroom' in line) return { kind: 'header', vaultID: line.vaultID }
  if ('head' in line) return { kind: 'head', mark: line.head }
  if ('end' in line) return { kind: 'end', counts: line }
  const signed = parseCheckpoint(line.checkpoint)
  return signed === undefined ? { kind: 'fault', fault: 'holds no checkpoint' } : { kind: 'checkpoint', signed }
}

/** Only the one way of writing a line counts, so that no two readers of JSON can see two things in it. */
function parsedLine(text: string): z.infer<typeof lineShape> | undefined {
  try {
    const json = JSON.parse(text)
    return jsonCanonical(json) === text ? lineShape.parse(json) : undefined
  } catch {
    return undefined
  }
}
