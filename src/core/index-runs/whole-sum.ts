/** Exact sums of whole numbers of any size, with numbers as long as they are exact. */
import { readU32 } from '../util/bytes.ts'
import type { Segment } from './segment.ts'

/** Bytes of the key of an integer or a decimal number. That of null has another length. */
const NUMBER_BYTES = 8

/** A sum that begins with 0. */
export class WholeSum {
  #near = 0
  #far = 0n

  /** Adds a number so many times, which can be negative. */
  add(value: number | bigint, times = 1): void {
    if (typeof value === 'number') {
      const sum = this.#near + value * times
      // A product that is not exact is no safe integer, nor is a sum with it.
      if (Number.isSafeInteger(sum)) {
        this.#near = sum
        return
      }
    }
    this.#far += BigInt(value) * BigInt(times)
  }

  get total(): bigint {
    return this.#far + BigInt(this.#near)
  }
}

/** Returns the number of a key of an INTEGER or DECIMAL column; undefined for that of null. */
export function numberOfKey(keys: Uint8Array, start: number, end: number): number | bigint | undefined {
  if (end - start !== NUMBER_BYTES) return undefined
  // The sign bit of a key is turned.
  const high = (readU32(keys, start) ^ 0x8000_0000) | 0
  const low = readU32(keys, start + 4)
  const near = high * 0x1_0000_0000 + low
  return Number.isSafeInteger(near) ? near : (BigInt(high) << 32n) | BigInt(low)
}

/** Returns how often values are in some groups of a segment, less how often they went, and adds them to a sum. */
export function totalOf(segment: Segment, { from, to }: { readonly from: number; readonly to: number }, sum?: WholeSum): number {
  const { keys, starts, firsts, weights } = segment
  let count = 0
  for (let group = from; group < to; group++) {
    let weight = 0
    for (let i = firsts[group] ?? 0; i < (firsts[group + 1] ?? 0); i++) weight += weights[i] ?? 0 // Exist, as the group does.
    count += weight
    const value = sum && numberOfKey(keys, starts[group] ?? 0, starts[group + 1] ?? 0)
    if (value !== undefined) sum?.add(value, weight)
  }
  return count
}
