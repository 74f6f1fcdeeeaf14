/**
 * Keys of an index of what texts contain: a number of 24 bits for each three code points that follow each other in the folded text, so that a pattern has
 * those of its parts. Other trigrams can have the same number: the opened record decides.
 */
import type { IndexKind } from '../schema/column.ts'
import type { AnyColumnType } from '../values/column-types.ts'
import { foldCase } from '../values/fold-case.ts'
import { type KeyRanges, setOf, union } from './key-ranges.ts'
import { keyAfter, orderKey } from './order-key.ts'

/** Bytes of a key. */
export const TRIGRAM_BYTES = 3
/** Code points of a text whose trigrams are stored. A longer text is taken to contain anything. */
const MAX_TEXT = 10_000

/** The key of every row, also of one without a text. */
const ROW = 0xff_fffe
/** The key of a row whose text is longer than MAX_TEXT. */
const LONG = 0xff_ffff
/** Numbers of trigrams are below. */
const NUMBERS = ROW

/** The ranges that have one key of each row, by the kind of the index. */
export const EVERY_ROW: KeyRanges = rangeOf(ROW)

/** Returns the keys of a value, or of null, in an index. In one of order that is a key; in the other all of them, each of TRIGRAM_BYTES, rising. */
export function indexKeys(kind: IndexKind, type: AnyColumnType, value: unknown): Uint8Array {
  return kind === 'order' ? orderKey(type, value) : trigramsOf(value === null ? '' : String(value))
}

/** Returns each key of `indexKeys`. */
export function splitKeys(kind: IndexKind, keys: Uint8Array): readonly Uint8Array[] {
  if (kind === 'order') return [keys]
  return Array.from({ length: keys.length / TRIGRAM_BYTES }, (_, i) => keys.subarray(i * TRIGRAM_BYTES, (i + 1) * TRIGRAM_BYTES))
}

/** Returns the keys of the trigrams in folded code points, each with that of long texts: the rows whose text has all of them have a key of each. */
export function rangesOfPart(points: readonly number[]): readonly KeyRanges[] {
  const ranges = new Map<number, KeyRanges>()
  for (let i = 2; i < points.length; i++) {
    const number = numberOf(points[i - 2] ?? 0, points[i - 1] ?? 0, points[i] ?? 0)
    ranges.set(number, union([rangeOf(number), rangeOf(LONG)]))
  }
  return [...ranges.values()]
}

function trigramsOf(text: string): Uint8Array {
  const numbers = new Set<number>()
  let [first, second, count] = [0, 0, 0]
  // A text of more units than these is too long, whatever they are.
  const isLong = text.length > 2 * MAX_TEXT
  for (let at = 0; !isLong && at < text.length; count++) {
    const point = text.codePointAt(at) ?? 0
    at += point > 0xffff ? 2 : 1
    const third = foldCase(point)
    if (count >= 2) numbers.add(numberOf(first, second, third))
    first = second
    second = third
  }
  const all = isLong || count > MAX_TEXT ? [ROW, LONG] : [...numbers, ROW]
  const sorted = Uint32Array.from(all).sort()
  const keys = new Uint8Array(sorted.length * TRIGRAM_BYTES)
  for (let i = 0; i < sorted.length; i++) write(keys, i * TRIGRAM_BYTES, sorted[i] ?? 0)
  return keys
}

/** Mixes three code points to a number below NUMBERS. The factors are odd, and have about as many ones as zeros. */
function numberOf(first: number, second: number, third: number): number {
  let mixed = Math.imul(first, 0x9e37_79b1)
  mixed = Math.imul(mixed ^ (mixed >>> 15) ^ second, 0x85eb_ca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13) ^ third, 0xc2b2_ae35)
  return ((mixed ^ (mixed >>> 16)) >>> 0) % NUMBERS
}

function rangeOf(number: number): KeyRanges {
  const low = new Uint8Array(TRIGRAM_BYTES)
  write(low, 0, number)
  return setOf({ low, high: keyAfter(low) })
}

function write(bytes: Uint8Array, at: number, number: number): void {
  bytes[at] = number >>> 16
  bytes[at + 1] = number >>> 8
  bytes[at + 2] = number
}
