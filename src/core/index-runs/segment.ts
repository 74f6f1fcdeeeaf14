/** Entries of an index, sorted by key and row, as typed arrays: no object for an entry. */
import { required } from '../util/lists.ts'
import { compareBytes, type KeyRange } from './order-key.ts'

/**
 * Sorted entries. Those of one key are a group. The key of group g is `keys[starts[g] .. starts[g + 1])`, and its entries are those from `firsts[g]` to
 * `firsts[g + 1]` (exclusive), by rising row. What is before the first group and after the last is of other segments. An entry has the row whose value has the key, and a weight: how often that value came, less how often it went.
 */
export interface Segment {
  readonly groups: number
  readonly keys: Uint8Array
  readonly starts: Uint32Array
  readonly firsts: Uint32Array
  readonly rows: Float64Array
  readonly weights: Int32Array
}

/** Groups of a segment, from `from` to `to` (exclusive). */
export interface Groups {
  readonly from: number
  readonly to: number
}

/** Returns the groups whose keys are in a range. */
export function groupsIn(segment: Segment, { low, high }: KeyRange): Groups {
  const from = low === undefined ? 0 : findGroup(segment, low)
  const to = high === undefined ? segment.groups : findGroup(segment, high)
  return { from, to: Math.max(from, to) }
}

/** Returns the groups of a segment whose keys are in a range, as a segment of the same memory. */
export function segmentIn(segment: Segment, range: KeyRange): Segment {
  const { from, to } = groupsIn(segment, range)
  if (from === 0 && to === segment.groups) return segment
  return {
    ...segment,
    groups: to - from,
    starts: segment.starts.subarray(from, to + 1),
    firsts: segment.firsts.subarray(from, to + 1),
  }
}

/** Returns the first group whose key is not below a key. */
function findGroup({ groups, keys, starts }: Segment, key: Uint8Array): number {
  return firstAtLeast(groups, (group) => compareBytes(keys, starts[group] ?? 0, starts[group + 1] ?? 0, key, 0, key.length))
}

/** Returns the first of `count` indexes, which are in order, at which the comparison is not negative; `count` if there is none. */
export function firstAtLeast(count: number, compare: (index: number) => number): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compare(middle) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** Bytes of memory that a segment takes, for a cache. */
export function bytesOfSegment({ keys, starts, firsts, rows, weights }: Segment): number {
  return keys.length + starts.byteLength + firsts.byteLength + rows.byteLength + weights.byteLength
}

/** Entries in any order, to be sorted. Keys are parts of `bytes`. */
export class EntryList {
  readonly #bytes: Uint8Array
  readonly #starts: number[] = []
  readonly #ends: number[] = []
  readonly #rows: number[] = []
  readonly #weights: number[] = []

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** Adds an entry whose key is `bytes[start .. end)`. */
  add(start: number, end: number, row: number, weight: number): void {
    this.#starts.push(start)
    this.#ends.push(end)
    this.#rows.push(row)
    this.#weights.push(weight)
  }

  /** Returns the entries sorted. Weights of one key and row are added up, and what adds up to nothing is left out. */
  sorted(): Segment {
    const order = this.#summed()
    const segment = {
      groups: 0,
      keys: new Uint8Array(order.reduce((sum, entry) => sum + this.#length(entry), 0)),
      starts: new Uint32Array(order.length + 1),
      firsts: new Uint32Array(order.length + 1),
      rows: Float64Array.from(order, (entry) => required(this.#rows[entry])),
      weights: Int32Array.from(order, (entry) => required(this.#weights[entry])),
    }
    let used = 0
    for (const [index, entry] of order.entries()) {
      if (index > 0 && this.#compare(required(order[index - 1]), entry) === 0) continue
      segment.starts[segment.groups] = used
      segment.firsts[segment.groups++] = index
      const start = required(this.#starts[entry])
      const length = this.#length(entry)
      for (let i = 0; i < length; i++) segment.keys[used + i] = this.#bytes[start + i] ?? 0 // Exists: the key is a part of the bytes.
      used += length
    }
    segment.starts[segment.groups] = used
    segment.firsts[segment.groups] = order.length
    return segment
  }

  /** The indexes of the entries in order, of one key and row the first alone, with the weight of all. */
  #summed(): number[] {
    const weights = this.#weights
    const kept: number[] = []
    for (const entry of this.#order()) {
      const last = kept.at(-1)
      if (last !== undefined && this.#rows[last] === this.#rows[entry] && this.#compare(last, entry) === 0)
        weights[last] = required(weights[last]) + required(weights[entry])
      else kept.push(entry)
    }
    return kept.filter((entry) => weights[entry] !== 0)
  }

  /** The indexes of the entries by key and row. Most comparisons end with the first bytes of the keys, which are compared as numbers. */
  #order(): Uint32Array {
    const byPlace = this.#orderByPlace()
    if (byPlace !== undefined) return byPlace
    const heads = Float64Array.from(this.#starts, (start, entry) => headOf(this.#bytes, start, this.#ends[entry] ?? 0))
    const rows = this.#rows
    return Uint32Array.from(rows, (_, entry) => entry).sort(
      (one, other) =>
        (heads[one] ?? 0) - (heads[other] ?? 0) || this.#compare(one, other) || (rows[one] ?? 0) - (rows[other] ?? 0),
    )
  }

  /** The same of keys with three bytes each, many times as fast; undefined if others are there, or if rows do not come rising. */
  #orderByPlace(): Uint32Array | undefined {
    const rows = this.#rows
    for (let i = 0; i < rows.length; i++) {
      const isRising = i === 0 || required(rows[i - 1]) <= required(rows[i])
      if (this.#length(i) !== SHORT_BYTES || !isRising) return undefined
    }
    const shift = 256 ** (HEAD_BYTES - SHORT_BYTES)
    const keys = Float64Array.from(
      this.#starts,
      (start, entry) => (headOf(this.#bytes, start, start + SHORT_BYTES) / shift) * PLACES + entry,
    )
    return Uint32Array.from(keys.sort(), (key) => key % PLACES)
  }

  #compare(one: number, other: number): number {
    const starts = this.#starts
    const ends = this.#ends
    return compareBytes(this.#bytes, starts[one] ?? 0, ends[one] ?? 0, this.#bytes, starts[other] ?? 0, ends[other] ?? 0)
  }

  #length(entry: number): number {
    return required(this.#ends[entry]) - required(this.#starts[entry])
  }
}

/** Bytes of a key that `headOf` has: as many as a number is exact for. */
const HEAD_BYTES = 6
/** Bytes of keys that are sorted with their place as one number. */
const SHORT_BYTES = 3
/** More than the entries of a list. With a short key it is a number that is exact. */
const PLACES = 2 ** 29

/** Returns the first bytes of a key as a number that orders as they do. */
export function headOf(bytes: Uint8Array, start: number, end: number): number {
  let head = 0
  for (let i = start; i < start + HEAD_BYTES; i++) head = head * 256 + (i < end ? (bytes[i] ?? 0) : 0)
  return head
}
