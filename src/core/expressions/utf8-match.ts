/** Tests conditions on one sealed text with its UTF-8, as it is in an opened body: a scan then makes no string for each row. */
import type { Column } from '../schema/column-layout.ts'
import { toUtf8 } from '../util/bytes.ts'
import type { Condition, Term } from './condition.ts'
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

/** A test of one column. A record passes if it has a value, and the value passes. */
export interface ColumnTest {
  readonly column: Column
  readonly test: Utf8Test
}

/** Returns the test that a condition is true of texts of at most MAX_UTF8_BYTES; undefined if it must be evaluated on values. */
export function createColumnTest(condition: Condition): ColumnTest | undefined {
  if (condition.kind !== 'like' && condition.kind !== 'compare') return undefined
  const column = sealedText(condition.left)
  const wanted = textOf(condition.right)
  if (column === undefined || wanted === undefined) return undefined
  const test = condition.kind === 'like' ? likeTest(wanted, condition.ignoresCase) : equalTest(wanted, condition.operator)
  return test && { column, test }
}

function likeTest(pattern: string, ignoresCase: boolean): Utf8Test | undefined {
  return ignoresCase ? undefined : createUtf8Matcher(pattern)
}

function equalTest(wanted: string, operator: string): Utf8Test | undefined {
  return operator === '=' && wanted.length <= MAX_UTF8_BYTES ? createUtf8Equality(toUtf8(wanted)) : undefined
}

/** The column of a term if its values are texts in sealed bodies. A transient column has none there. */
function sealedText(term: Term): Column | undefined {
  const column = term.kind === 'cell' ? term.ref.column : undefined
  const isSealed = column !== undefined && column.plain === undefined && column.token?.expires !== true
  return isSealed && column.type.isText === true ? column : undefined
}

function textOf(term: Term): string | undefined {
  return term.kind === 'constant' && term.type.isText === true && typeof term.value === 'string' ? term.value : undefined
}
