/** Matches texts with the patterns of LIKE and ILIKE, code point by code point. */
import { LONGEST_PATTERN_PIECE } from '../limits.ts'

/** A pattern that texts cannot be matched with. */
export class PatternFault extends Error {}

/** Whether a pattern ends in a backslash that escapes nothing, so that matching with it may throw PatternFault. */
export function endsInLoneEscape(pattern: string): boolean {
  const backslashes = /\\*$/.exec(pattern)?.[0].length ?? 0
  return backslashes % 2 === 1
}

/** Stands in a segment for any one code point; all else in it are code points. */
const ONE = -1

/** What stands between two `%`. */
type Segment = readonly number[]

type Fold = (codePoint: number) => number

/**
 * A test whether texts match `pattern` as a whole: `%` is any text, `_` any one code point, a backslash takes away the meaning of what
 * follows. Case is ignored code point by code point, whatever the language. Time is linear in the text, times a 32nd of the longest
 * piece between two `%`. Throws PatternFault where such a piece has more than 1,024 code points. The test throws it, as in PostgreSQL,
 * for a lone backslash at the end, but only for texts whose match comes that far.
 */
export function createMatcher(pattern: string, ignoresCase: boolean): (text: string) => boolean {
  const fold = ignoresCase ? foldCase : asIs
  if (!endsInLoneEscape(pattern)) return createSegmentMatcher(segmentsOf(pattern, fold), fold)
  const comesToEscape = createSegmentMatcher(segmentsOf(`${pattern.slice(0, -1)}_%`, fold), fold)
  return (text) => {
    if (!comesToEscape(text)) return false
    throw new PatternFault('The pattern ends in a backslash that escapes nothing. Write two for a backslash.')
  }
}

/** What stands between the `%` of a pattern: one segment where there is none. */
function segmentsOf(pattern: string, fold: Fold): readonly Segment[] {
  let segment: number[] = []
  const segments = [segment]
  let isEscaped = false
  for (const character of pattern) {
    if (isEscaped || !'%_\\'.includes(character)) {
      segment.push(fold(character.codePointAt(0) ?? 0))
      isEscaped = false
    } else if (character === '_') segment.push(ONE)
    else if (character === '\\') isEscaped = true
    else {
      segment = []
      segments.push(segment)
    }
  }
  return segments
}

/** The first segment stands at the beginning, the last at the end, and each between as early as it can: a later place helps none after it. */
function createSegmentMatcher(segments: readonly Segment[], fold: Fold): (text: string) => boolean {
  const [head = [], ...others] = segments
  const tail = others.pop()
  if (tail === undefined) return (text) => endOf(head, text, { from: 0, fold }) === text.length
  assertShort(others)
  const searches = others.filter((segment) => segment.length > 0).map((segment) => createSearch(segment, fold))
  return (text) => {
    let at = endOf(head, text, { from: 0, fold })
    for (const search of searches) {
      if (at === undefined) return false
      at = search(text, at)
    }
    const from = startOfLast(tail.length, text)
    return at !== undefined && from !== undefined && from >= at && endOf(tail, text, { from, fold }) !== undefined
  }
}

/** Longer pieces would cost time and memory that no honest pattern asks for. */
function assertShort(segments: readonly Segment[]): void {
  if (segments.every((segment) => segment.length <= LONGEST_PATTERN_PIECE)) return
  throw new PatternFault(`The pattern has more than ${LONGEST_PATTERN_PIECE} characters between two %. Shorten it.`)
}

/** Where a segment that begins at `from` ends in a text, or undefined where it does not stand there. */
function endOf(
  segment: Segment,
  text: string,
  { from, fold }: { readonly from: number; readonly fold: Fold },
): number | undefined {
  let at = from
  for (const wanted of segment) {
    const codePoint = text.codePointAt(at)
    if (codePoint === undefined || (wanted !== ONE && wanted !== fold(codePoint))) return undefined
    at += widthOf(codePoint)
  }
  return at
}

/** Where the last so many code points of a text begin, or undefined where it has fewer. */
function startOfLast(count: number, text: string): number | undefined {
  let at = text.length
  for (let left = count; left > 0; left--) {
    if (at === 0) return undefined
    at -= at > 1 && widthOf(text.codePointAt(at - 2) ?? 0) === 2 ? 2 : 1
  }
  return at
}

/**
 * Finds the end of the first place of a segment, at or after `from`. Bit i of the state says that the text just read ends in the segment's
 * first i + 1 steps: so every beginning is followed at once, 32 a word, and no text is slow by almost matching.
 */
function createSearch(segment: Segment, fold: Fold): (text: string, from: number) => number | undefined {
  if (fold === asIs && segment.every(isSearchable)) return createLiteralSearch(String.fromCodePoint(...segment))
  const masks = masksOf(segment)
  const words = Math.ceil(segment.length / 32)
  const state = new Int32Array(words)
  const lastBit = 1 << ((segment.length - 1) % 32)
  return (text, from) => {
    state.fill(0)
    for (let at = from; at < text.length; ) {
      const codePoint = text.codePointAt(at) ?? 0
      at += widthOf(codePoint)
      const mask = masks.get(fold(codePoint)) ?? masks.get(ONE)
      let carried = 1
      for (let word = 0; word < words; word++) {
        const before = state[word] ?? 0
        state[word] = ((before << 1) | carried) & (mask?.[word] ?? 0)
        carried = before >>> 31
      }
      if (((state[words - 1] ?? 0) & lastBit) !== 0) return at
    }
    return undefined
  }
}

/** The same for a segment that is a text: the runtime's own search is quick, and in a text of whole code points finds only whole ones. */
function createLiteralSearch(piece: string): (text: string, from: number) => number | undefined {
  return (text, from) => {
    const at = text.indexOf(piece, from)
    return at < 0 ? undefined : at + piece.length
  }
}

/** True for a step that is one certain code point, and no half of one. */
function isSearchable(step: number): boolean {
  return step !== ONE && (step < 0xd800 || step > 0xdfff)
}

/** By code point, the bits of the steps it fits; those of ONE are for every code point that is in no step. */
function masksOf(segment: Segment): ReadonlyMap<number, Int32Array> {
  const always = new Int32Array(Math.ceil(segment.length / 32))
  for (const [i, step] of segment.entries()) if (step === ONE) setBit(always, i)
  const masks = new Map([[ONE, always]])
  for (const [i, step] of segment.entries()) {
    const mask = masks.get(step) ?? always.slice()
    setBit(mask, i)
    masks.set(step, mask)
  }
  return masks
}

function setBit(bits: Int32Array, i: number): void {
  bits[i >>> 5] = (bits[i >>> 5] ?? 0) | (1 << (i % 32))
}

/** UTF-16 units of a code point. */
function widthOf(codePoint: number): number {
  return codePoint > 0xffff ? 2 : 1
}

function asIs(codePoint: number): number {
  return codePoint
}

/** A code point in lower case, or as it is where lower case would take several. */
function foldCase(codePoint: number): number {
  if (codePoint < 0x80) return codePoint >= 0x41 && codePoint <= 0x5a ? codePoint + 0x20 : codePoint
  const lower = String.fromCodePoint(codePoint).toLowerCase()
  const folded = lower.codePointAt(0) ?? codePoint
  return lower.length === widthOf(folded) ? folded : codePoint
}
