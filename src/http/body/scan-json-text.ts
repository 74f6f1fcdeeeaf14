/** Counts values, members and nesting of JSON text before it is parsed: in one pass, and without a copy. */

/** What a body of JSON may hold at most; of values, by default. The same limits as for a value of a JSON column. */
export const MAX_JSON_DEPTH = 64
export const MAX_JSON_VALUES = 100_000

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPENING_BRACKET = 0x5b
const CLOSING_BRACKET = 0x5d
const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d

/** What JSON text holds. Of text that is not JSON, the numbers mean nothing. */
export interface JsonCounts {
  /** The deepest nesting. A list or an object of scalar values has depth 1. */
  readonly depth: number
  /** Values of any kind, with the outermost one. */
  readonly values: number
  /** Members of all objects. Members with the same name are counted each. */
  readonly members: number
}

/** Returns what the text holds. Stops early at a depth or a number of values over its limit. */
export function scanJsonText(text: string, maxValues = MAX_JSON_VALUES): JsonCounts {
  let values = 1
  let members = 0
  let depth = 0
  let deepest = 0
  let last = 0 // The position of the last character that was counted.
  for (let i = 0; i < text.length && values <= maxValues && deepest <= MAX_JSON_DEPTH; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE:
        i = endOfString(text, i)
        break
      case COMMA:
        values++
        break
      case COLON:
        members++
        break
      case OPENING_BRACE:
      case OPENING_BRACKET:
        if (++depth > deepest) deepest = depth
        i = beforeNext(text, i)
        if (!isClosing(text.charCodeAt(i + 1))) values++ // Its first item. The others follow a comma.
        break
      case CLOSING_BRACE:
      case CLOSING_BRACKET:
        depth--
        break
      default:
        if (i - last > LONG_RUN) i = nextStructure(text, i) - 1
        continue
    }
    last = i
  }
  return { depth: deepest, values, members }
}

/** White space and digits longer than this are passed over by the engine. */
const LONG_RUN = 64

const STRUCTURE = /["[\]{},:]/g

/** Returns the position of the next character that counts, or the end of the text. */
function nextStructure(text: string, from: number): number {
  STRUCTURE.lastIndex = from
  return STRUCTURE.test(text) ? STRUCTURE.lastIndex - 1 : text.length
}

/** A string longer than this is searched for its end by the engine, which is faster than a loop and slower to start. */
const SHORT_STRING = 64

/** Returns the position of the quote that ends the string, or a position behind the text. */
export function endOfString(text: string, start: number): number {
  let end = start + 1
  let looped = end + SHORT_STRING
  while (end < text.length) {
    const code = text.charCodeAt(end)
    if (code === QUOTE) return end
    if (code === BACKSLASH) {
      end += 2
      looped = end + SHORT_STRING // Where escapes are, others follow.
    } else if (++end === looped) {
      end = nextSpecial(text, end)
    }
  }
  return end
}

const SPECIAL = /["\\]/g

/** Returns the position of the next quote or backslash, or the end of the text. */
function nextSpecial(text: string, from: number): number {
  SPECIAL.lastIndex = from
  return SPECIAL.test(text) ? SPECIAL.lastIndex - 1 : text.length
}

function isClosing(code: number): boolean {
  return code === CLOSING_BRACE || code === CLOSING_BRACKET
}

/** Returns the last position of the white space that follows, or the position itself. */
function beforeNext(text: string, position: number): number {
  let i = position
  while (isWhiteSpace(text.charCodeAt(i + 1))) i++
  return i
}

/** True for the white space of JSON. */
export function isWhiteSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}
