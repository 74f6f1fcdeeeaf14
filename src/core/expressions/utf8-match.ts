/** Matches patterns of LIKE with the UTF-8 of a text, so that no string is made of it. Well-formed UTF-8 has a character only where it begins. */
import { toUtf8 } from '../util/bytes.ts'
import { fixedPieces } from './like.ts'

/** Tests the text in `bytes[start .. end)`. */
export type Utf8Test = (bytes: Uint8Array, start: number, end: number) => boolean

/** Bytes of the longest text to match in this way: a search can take as many steps as text and piece have bytes, multiplied. */
export const MAX_UTF8_BYTES = 256
/** Characters of the longest piece of a pattern. */
const MAX_PIECE_LENGTH = 32

/** Returns the test of a pattern that distinguishes case; undefined if it must be matched with strings: it has `_`, or is long or refused. */
export function createUtf8Matcher(pattern: string): Utf8Test | undefined {
  const [head, ...others] = fixedPieces(pattern, MAX_PIECE_LENGTH)?.map(toUtf8) ?? []
  if (head === undefined) return undefined
  const tail = others.pop()
  if (tail === undefined) return createUtf8Equality(head)
  const middle = others.filter(({ length }) => length > 0)
  return (bytes, start, end) => {
    const last = end - tail.length
    let at = start + head.length
    if (at > last || !hasAt(bytes, start, head) || !hasAt(bytes, last, tail)) return false
    for (const piece of middle) {
      at = endOfFirst(bytes, at, last, piece)
      if (at < 0) return false
    }
    return true
  }
}

/** Returns the test that a text is this one. */
export function createUtf8Equality(wanted: Uint8Array): Utf8Test {
  return (bytes, start, end) => end - start === wanted.length && hasAt(bytes, start, wanted)
}

function hasAt(bytes: Uint8Array, at: number, piece: Uint8Array): boolean {
  for (let i = 0; i < piece.length; i++) if (bytes[at + i] !== piece[i]) return false
  return true
}

/** Returns the offset after the first place of a piece in `bytes[from .. to)`; -1 if there is none. */
function endOfFirst(bytes: Uint8Array, from: number, to: number, piece: Uint8Array): number {
  const last = to - piece.length
  const first = piece[0]
  for (let at = from; at <= last; at++) if (bytes[at] === first && hasAt(bytes, at, piece)) return at + piece.length
  return -1
}
