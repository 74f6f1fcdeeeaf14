/** Encodes and decodes events: one canonical text is digested and exported, and a compact form of it is sealed. Source: RFC 8785, JSON Canonicalization Scheme. */
import { type Fault, fault } from '../errors.ts'
import { ByteWriter, readUtf8, sameBytes } from '../util/bytes.ts'
import { isAscii } from '../util/text.ts'
import { toTimestamp } from '../util/time.ts'
import type { JsonValue } from '../values/column-type.ts'
import { isCompact } from './compact-layout.ts'
import { type ChainLinks, writeTextOfCompact } from './compact-to-text.ts'
import type { ChainedEvent } from './event.ts'
import { type EventLinks, matchEvent } from './event-pattern.ts'
import { eventShape } from './event-shape.ts'
import { beginLeaf } from './merkle.ts'
import { readCompactEvent } from './read-compact-event.ts'
import { writeEvent } from './write-event.ts'

/** Returns the canonical text of an event as UTF-8. */
export function encodeEvent(event: ChainedEvent): Uint8Array {
  const out = new ByteWriter()
  writeEvent(out, event, event)
  return out.written()
}

/** Returns the event of stored bytes, in either form. Throws `data_loss` if they are not an event in a known format. */
export function decodeEvent(bytes: Uint8Array): ChainedEvent {
  const event = isCompact(bytes) ? readCompactEvent(bytes) : readText(bytes)
  if (event === undefined) throw unknownFormat()
  return event
}

function readText(bytes: Uint8Array): ChainedEvent | undefined {
  const text = readUtf8(bytes, 0, bytes.length)
  // What the pattern accepts has the shape of an event.
  return matchEvent(text) === undefined ? parseEventText(text) : (JSON.parse(text) as ChainedEvent)
}

/** Writes the leaf of stored bytes, in either form: its prefix and the canonical text. Throws `data_loss` if they are compact and no event. */
export function writeLeaf(out: ByteWriter, bytes: Uint8Array): void {
  beginLeaf(out)
  if (!isCompact(bytes)) out.raw(bytes)
  else if (writeTextOfCompact(out, bytes) === undefined) throw unknownFormat()
}

function unknownFormat(): Fault {
  return fault('data_loss')`An audit event has an unknown format. Run vault.verifyAudit().`
}

/** Returns the links of the event of these bytes; undefined if they are not the canonical text of an event. */
export function readCanonical(bytes: Uint8Array): EventLinks | undefined {
  const text = readUtf8(bytes, 0, bytes.length)
  // Reading UTF-8 accepts what writing it never makes, so other text is compared by its bytes.
  const links = isAscii(bytes) ? matchEvent(text) : undefined
  if (links !== undefined) return links
  const event = parseEventText(text)
  return event !== undefined && sameBytes(encodeEvent(event), bytes) ? event : undefined
}

/** Writes the canonical text of stored bytes, in either form, and returns what the event is chained by; undefined if they are no event. */
export function writeTextOf(out: ByteWriter, bytes: Uint8Array): ChainLinks | undefined {
  return isCompact(bytes) ? writeTextOfCompact(out, bytes) : copyCanonical(out, bytes)
}

/** The same of bytes that are text. */
export function copyCanonical(out: ByteWriter, bytes: Uint8Array): ChainLinks | undefined {
  out.raw(bytes)
  return readCanonical(bytes)
}

/** Returns the event of JSON text; undefined if it is not one. */
export function parseEventText(text: string): ChainedEvent | undefined {
  return parseEvent(parsedText(text))
}

/** True if `at`, in nanoseconds since 1970, is the time of an event. Storage has it next to the sealed event. */
export function hasTimestamp({ timestamp }: Pick<ChainedEvent, 'timestamp'>, at: bigint): boolean {
  return toTimestamp(at) === timestamp
}

/** Returns JSON data as an event; undefined if it is not one. */
export function parseEvent(json: unknown): ChainedEvent | undefined {
  return eventShape(json)
}

function parsedText(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
