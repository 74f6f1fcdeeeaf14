/** Matches strings with the patterns of LIKE and ILIKE, code point by code point. */
import { MAX_PATTERN_PIECE_LENGTH } from '../limits.ts'
import { at as item, required } from '../util/lists.ts'
import { foldCase } from '../values/fold-case.ts'

/** A pattern that cannot be used for matching. */
export class PatternError extends Error {}

/**
 * Thrown by a suspending matcher for a long text whose result it does not have. The caller runs the steps to their end, with turns of the
 * event loop between, and evaluates again: the matcher has the result then.
 */
export class LongMatch extends Error {
  readonly steps: Iterable<void>

  constructor(steps: Iterable<void>) {
    super('a long text is matched in steps')
    this.steps = steps
  }
}

/** Length of a text, in UTF-16 units, above which matching it at once would hold the event loop. */
const LONG_TEXT = 256 * 1024
/** Units matched in one step, for a segment of up to 32 code points. */
const STEP_UNITS = 256 * 1024
/** Results kept for long texts: the rows of one slice. */
const MAX_RESULTS = 8

type Matcher = (text: string) => boolean

/** Like `createMatcher`, but a matcher throws `LongMatch` for a long text. */
export function createSuspendingMatcher(pattern: string, ignoresCase: boolean): Matcher {
  const matches = createMatcher(pattern, ignoresCase)
  const results = new Map<string, boolean>()
  return (text) => {
    if (text.length <= LONG_TEXT) return matches(text)
    const known = results.get(text)
    if (known !== undefined) return known
    throw new LongMatch(
      (function* () {
        const result = yield* matches.inSteps(text)
        if (results.size >= MAX_RESULTS) results.clear()
        results.set(text, result)
      })(),
    )
  }
}

/** True if a pattern ends in a backslash that escapes nothing. Matching with it can throw `PatternError`. */
export function endsInLoneEscape(pattern: string): boolean {
  const backslashes = /\\*$/.exec(pattern)?.[0].length ?? 0
  return backslashes % 2 === 1
}

/**
 * Returns the texts between the `%` of a pattern; undefined if one has `_`, a lone surrogate, or more than `maxLength` characters, or if the
 * pattern ends in a backslash that escapes nothing.
 */
export function fixedPieces(pattern: string, maxLength: number): readonly string[] | undefined {
  if (endsInLoneEscape(pattern)) return undefined
  const segments = segmentsOf(pattern, asIs)
  if (!segments.every((segment) => segment.length <= maxLength && segment.every(isSearchable))) return undefined
  return segments.map(textOf)
}

/** Returns the parts of a pattern without wildcards, as folded code points, which every match of LIKE or ILIKE has in its folded text. */
export function foldedParts(pattern: string): readonly (readonly number[])[] {
  return segmentsOf(pattern, foldCase).flatMap((segment) => {
    const parts: number[][] = [[]]
    for (const step of segment) {
      if (step === ONE) parts.push([])
      else parts.at(-1)?.push(step)
    }
    return parts
  })
}

/** The text that every match of a pattern begins with. */
export interface LiteralPrefix {
  readonly prefix: string
  /** True if the prefix itself is the only match. */
  readonly isWhole: boolean
  /** True if every text with the prefix matches, or the prefix is the only match. */
  readonly isAll: boolean
}

/** Returns the text before the first wildcard of a pattern, which does not end in a backslash that escapes nothing. */
export function literalPrefix(pattern: string): LiteralPrefix {
  const [head = [], ...others] = segmentsOf(pattern, asIs)
  const end = head.findIndex((point) => !isSearchable(point))
  const isCut = end >= 0
  const isWhole = !isCut && others.length === 0
  const prefix = textOf(isCut ? head.slice(0, end) : head)
  return { prefix, isWhole, isAll: isWhole || (!isCut && others.every(({ length }) => length === 0)) }
}

/** Returns the text of a segment without wildcards. */
function textOf(segment: Segment): string {
  return segment.map((point) => String.fromCodePoint(point)).join('')
}

/** In a segment: any one code point. All other numbers are code points. */
const ONE = -1

/** The steps between two `%`. */
type Segment = readonly number[]

type Fold = (codePoint: number) => number

/**
 * Returns a function that tests whether a whole string matches `pattern`. `%` is any text, `_` is any one code point, and a backslash
 * escapes the next character. ILIKE folds case per code point, independent of language. Time is linear in the string, times 1/32 of the
 * longest segment between two `%`.
 * Throws `PatternError` if such a segment has more than 1,024 code points. The returned function throws it for a lone backslash at the end,
 * but only if a string matches up to it, as in PostgreSQL.
 */
export function createMatcher(pattern: string, ignoresCase: boolean): SteppedMatcher {
  const fold = ignoresCase ? foldCase : asIs
  if (!endsInLoneEscape(pattern)) return createSegmentMatcher(segmentsOf(pattern, fold), fold)
  const comesToEscape = createSegmentMatcher(segmentsOf(`${pattern.slice(0, -1)}_%`, fold), fold)
  const refuse = (comes: boolean): boolean => {
    if (!comes) return false
    throw new PatternError('The pattern ends in a backslash that escapes nothing. Write two for a backslash.')
  }
  return Object.assign((text: string) => refuse(comesToEscape(text)), {
    *inSteps(text: string) {
      return refuse(yield* comesToEscape.inSteps(text))
    },
  })
}

/** Matches a text at once, or in steps that each take a few milliseconds. */
interface SteppedMatcher extends Matcher {
  inSteps(text: string): Generator<void, boolean>
}

/** Splits a pattern at its `%`. A pattern without `%` is one segment. */
function segmentsOf(pattern: string, fold: Fold): readonly Segment[] {
  let segment: number[] = []
  const segments = [segment]
  let isEscaped = false
  for (const character of pattern) {
    if (isEscaped || !'%_\\'.includes(character)) {
      segment.push(fold(required(character.codePointAt(0), 'A code point')))
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

/**
 * The first segment must match at the start and the last at the end. Each segment between is matched at its earliest position: a later one
 * never helps the segments after it.
 */
function createSegmentMatcher(segments: readonly Segment[], fold: Fold): SteppedMatcher {
  const [head = [], ...others] = segments
  const tail = others.pop()
  if (tail === undefined) return withSteps((text) => endOf(head, text, { from: 0, fold }) === text.length)
  assertShort(others)
  const searches = others.filter((segment) => segment.length > 0).map((segment) => createSearch(segment, fold))
  const endsAfter = (text: string, at: number | undefined): boolean => {
    const from = startOfLast(tail.length, text)
    return at !== undefined && from !== undefined && from >= at && endOf(tail, text, { from, fold }) !== undefined
  }
  const matches = (text: string): boolean => {
    let at = endOf(head, text, { from: 0, fold })
    for (const search of searches) {
      if (at === undefined) return false
      search.begin()
      at = search.find(text, at, text.length)
    }
    return endsAfter(text, at)
  }
  return Object.assign(matches, {
    *inSteps(text: string) {
      let at = endOf(head, text, { from: 0, fold })
      for (const search of searches) {
        if (at === undefined) return false
        at = yield* findInSteps(search, text, at)
      }
      return endsAfter(text, at)
    },
  })
}

function* findInSteps(search: Search, text: string, from: number): Generator<void, number | undefined> {
  search.begin()
  for (let start = from; start < text.length; ) {
    const end = wholeCodePoint(text, Math.min(text.length, start + search.stepUnits))
    const found = search.find(text, start, end)
    yield
    if (found !== undefined) return found
    start = end
  }
  return undefined
}

/** The offset, or the next one if it would divide a surrogate pair. */
function wholeCodePoint(text: string, at: number): number {
  return at > 0 && at < text.length && widthOf(text.codePointAt(at - 1) ?? 0) === 2 ? at + 1 : at
}

/** A matcher whose time does not depend on the length of the text. */
function withSteps(matches: Matcher): SteppedMatcher {
  return Object.assign(matches, {
    // biome-ignore lint/correctness/useYield: it is one step.
    *inSteps(text: string) {
      return matches(text)
    },
  })
}

/** Longer segments would cost time and memory that only an attack needs. */
function assertShort(segments: readonly Segment[]): void {
  if (segments.every((segment) => segment.length <= MAX_PATTERN_PIECE_LENGTH)) return
  throw new PatternError(`The pattern has more than ${MAX_PATTERN_PIECE_LENGTH} characters between two %. Shorten it.`)
}

/** Matches a segment at offset `from`. Returns the offset of its end, or undefined if it does not match. */
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

/** Returns the offset of the last `count` code points of a string, or undefined if it has fewer. */
function startOfLast(count: number, text: string): number | undefined {
  let at = text.length
  for (let left = count; left > 0; left--) {
    if (at === 0) return undefined
    at -= at > 1 && widthOf(text.codePointAt(at - 2) ?? 0) === 2 ? 2 : 1
  }
  return at
}

/** Finds one segment in a text, also piece by piece. */
interface Search {
  /** Units of a text to search in one step. */
  readonly stepUnits: number
  /** Begins a new search. */
  begin(): void
  /** Searches `text[from .. to)`, after the pieces before. Returns the end of the first match, if it ends there. */
  find(text: string, from: number, to: number): number | undefined
}

/**
 * Bit i of the state is set if the text read so far ends in the first i + 1 steps of the segment. All possible starts are tracked at
 * once, 32 per word, so no text is slow by almost matching.
 */
function createSearch(segment: Segment, fold: Fold): Search {
  if (fold === asIs && segment.every(isSearchable)) return createLiteralSearch(textOf(segment))
  const masks = masksOf(segment)
  const words = Math.ceil(segment.length / 32)
  const state = new Int32Array(words)
  const lastBit = 1 << ((segment.length - 1) % 32)
  return {
    stepUnits: Math.ceil(STEP_UNITS / (3 + words)),
    begin: () => void state.fill(0),
    find(text, from, to) {
      for (let at = from; at < to; ) {
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
    },
  }
}

/** The same for a segment without `_`: uses the search of the runtime. In a well-formed string it finds only whole code points. */
function createLiteralSearch(piece: string): Search {
  return {
    // The runtime searches a text of any length that a value has within a few milliseconds.
    stepUnits: Number.POSITIVE_INFINITY,
    begin() {},
    find(text, from) {
      const at = text.indexOf(piece, from)
      return at < 0 ? undefined : at + piece.length
    },
  }
}

/** True for a step that is one fixed code point and not half of a surrogate pair. */
function isSearchable(step: number): boolean {
  return step !== ONE && (step < 0xd800 || step > 0xdfff)
}

/** Maps each code point to the bits of the steps that it matches. The entry of ONE is for code points that are in no step. */
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
  bits[i >>> 5] = item(bits, i >>> 5) | (1 << (i % 32))
}

/** UTF-16 units of a code point. */
function widthOf(codePoint: number): number {
  return codePoint > 0xffff ? 2 : 1
}

function asIs(codePoint: number): number {
  return codePoint
}
