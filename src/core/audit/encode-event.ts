/** Encodes and decodes events: one canonical text is digested, sealed and exported. Source: RFC 8785, JSON Canonicalization Scheme. */
import { fault } from '../errors.ts'
import { isAscii } from '../util/byte-text.ts'
import { ByteWriter, readUtf8, sameBytes } from '../util/bytes.ts'
import { toTimestamp } from '../util/timestamp.ts'
import type { JsonValue } from '../values/column-type.ts'
import type { ChainedEvent } from './event.ts'
import { type EventLinks, matchEvent } from './event-pattern.ts'
import { eventShape } from './event-shape.ts'
import { writeEvent } from './write-event.ts'

/** Returns the canonical text of an event as UTF-8. */
export function encodeEvent(event: ChainedEvent): Uint8Array {
  const out = new ByteWriter()
  writeEvent(out, event, event)
  return out.written()
}

/** Returns the event of these bytes. Throws `data_loss` if they are not an event in a known format. */
export function decodeEvent(bytes: Uint8Array): ChainedEvent {
  const text = readUtf8(bytes, 0, bytes.length)
  // What the pattern accepts has the shape of an event.
  const event = matchEvent(text) === undefined ? parseEventText(text) : (JSON.parse(text) as ChainedEvent)
  if (event === undefined) throw fault('data_loss')`An audit event has an unknown format. Run vault.verifyAudit().`
  return event
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
