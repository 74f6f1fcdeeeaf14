/** Sets of order keys as ranges: what a condition leaves of them, and their union, intersection and complement. */
import { append } from '../util/lists.ts'
import { compareKeys, type KeyRange, keyAfter, NULL_KEY } from './order-key.ts'

/** The keys from `low` up to `high`, without `high`. */
export interface WholeRange {
  readonly low: Uint8Array
  readonly high: Uint8Array
}

/** Ranges in order, none of which touches the next. */
export type KeyRanges = readonly WholeRange[]

const FIRST: Uint8Array = new Uint8Array(0)

/** No key. */
export const NO_KEYS: KeyRanges = []
/** The keys of all values. */
export const VALUES: KeyRanges = [{ low: FIRST, high: NULL_KEY }]
/** The key of null. */
export const NULLS: KeyRanges = [{ low: NULL_KEY, high: keyAfter(NULL_KEY) }]
/** All keys, that of null included. */
export const EVERY_KEY: KeyRanges = [{ low: FIRST, high: keyAfter(NULL_KEY) }]

/** Returns the keys from one up to another; none if there are none. */
function rangeOf(low: Uint8Array, high: Uint8Array): KeyRanges {
  return compareKeys(low, high) < 0 ? [{ low, high }] : NO_KEYS
}

/** Returns a range of keys of values as a set. */
export function setOf({ low = FIRST, high = NULL_KEY }: KeyRange): KeyRanges {
  return rangeOf(low, high)
}

/** Returns the keys that are in both. */
export function intersection(one: KeyRanges, other: KeyRanges): KeyRanges {
  const both: WholeRange[] = []
  for (let i = 0, j = 0; i < one.length && j < other.length; ) {
    const [left, right] = [one[i], other[j]]
    if (left === undefined || right === undefined) break
    const low = compareKeys(left.low, right.low) < 0 ? right.low : left.low
    const isLeftFirst = compareKeys(left.high, right.high) < 0
    append(both, rangeOf(low, isLeftFirst ? left.high : right.high))
    if (isLeftFirst) i++
    else j++
  }
  return both
}

/** Returns the keys that are in any. */
export function union(sets: readonly KeyRanges[]): KeyRanges {
  const sorted = sets.flat().sort((left, right) => compareKeys(left.low, right.low))
  const joined: WholeRange[] = []
  for (const range of sorted) {
    const last = joined.at(-1)
    if (last === undefined || compareKeys(last.high, range.low) < 0) joined.push(range)
    else if (compareKeys(last.high, range.high) < 0) joined[joined.length - 1] = { low: last.low, high: range.high }
  }
  return joined
}

/** Returns the values that are not in a set of values. */
export function otherValues(ranges: KeyRanges): KeyRanges {
  let low = FIRST
  const others: WholeRange[] = []
  for (const range of ranges) {
    append(others, rangeOf(low, range.low))
    low = range.high
  }
  append(others, rangeOf(low, NULL_KEY))
  return others
}
