/** Recognizes the canonical text of an event, as exports have it. */
import { MAX_CHAINS } from '../limits.ts'
import { type ByteWriter, readUtf8, sameBytes } from '../util/bytes.ts'
import { isAscii } from '../util/text.ts'
import type { ChainedEvent } from './event.ts'
import { EVENT } from './event-members.ts'
import type { ChainLinks } from './read-event.ts'
import { encodeEvent } from './write-event.ts'

/** Longer text is parsed: a pattern needs memory for each escape and each item in it. */
const MAX_MATCHED = 1_000_000

/** Matches only text that is written of an event, and leaves out what is rare: escapes other than of quotes and backslashes, and numbers of 15 digits and more. */
const PATTERN = new RegExp(`^${EVENT.pattern}$`)

/** Writes these bytes, and returns what the event is chained by; undefined if they are not the canonical text of an event. */
export function copyCanonical(out: ByteWriter, bytes: Uint8Array): ChainLinks | undefined {
  out.raw(bytes)
  return readCanonical(bytes)
}

/** Returns what the event of these bytes is chained by; undefined if they are not the canonical text of an event. */
export function readCanonical(bytes: Uint8Array): ChainLinks | undefined {
  const text = readUtf8(bytes, 0, bytes.length)
  // Reading UTF-8 accepts what writing it never makes, so other text is compared by its bytes.
  const links = isAscii(bytes) ? matchEvent(text) : undefined
  if (links !== undefined) return links
  const event = parseEventText(text)
  return event !== undefined && sameBytes(encodeEvent(event), bytes) ? event : undefined
}

/** Reads the links off a text without parsing it. Undefined says nothing: the text must be parsed. */
export function matchEvent(text: string): ChainLinks | undefined {
  const found = text.length > MAX_MATCHED ? null : PATTERN.exec(text)
  if (found === null) return undefined
  // In the order of the members.
  const [, chain, previous = '', sequence, timestamp = '', vaultID = ''] = found
  const position = { chain: Number(chain), sequence: Number(sequence), previous }
  return position.chain > MAX_CHAINS || position.sequence > 0xffff_ffff ? undefined : { position, timestamp, vaultID }
}

/** Returns the event of JSON text; undefined if it is not one. */
export function parseEventText(text: string): ChainedEvent | undefined {
  try {
    // The cast is safe: the shape has the members of an event.
    return EVENT.shape(JSON.parse(text)) as ChainedEvent | undefined
  } catch {
    return undefined
  }
}
