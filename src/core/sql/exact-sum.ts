/** Adds doubles without rounding and rounds once, at the end, so that no order of the values, and no storage, changes the sum. */
import { required } from '../util/lists.ts'

/** A sum of finite doubles. */
export interface ExactSum {
  add(value: number): void
  /** Returns the double nearest to the sum divided by an integer from 1. It is infinite if that is beyond the doubles. */
  dividedBy(divisor: number): number
}

/** Words of 32 bits. The first counts units of the least positive double, 2 ** -1074. The last takes what sums exceed the doubles by. */
const WORDS = 68
const WORD_BITS = 32
const WORD = 2 ** WORD_BITS
/** Values that are added to a word before its carry: a word is a double, which is exact up to 2 ** 53. */
const MAX_UNCARRIED = 2 ** 20
/** Exponent of the least positive double. */
const MIN_EXPONENT = -1074

/** Returns a sum of no values. A value is added to the three words that its digits are in; a carry follows later. */
export function createExactSum(): ExactSum {
  const words = new Float64Array(WORDS)
  const digits = new DataView(new ArrayBuffer(8))
  let uncarried = 0
  return {
    add(value) {
      digits.setFloat64(0, value)
      const high = digits.getUint32(0)
      const low = digits.getUint32(4)
      const exponent = (high >>> 20) & 0x7ff
      const top = exponent === 0 ? high & 0xfffff : (high & 0xfffff) | 0x100000
      // Doubles without an exponent have the unit of those with the least one.
      const position = exponent === 0 ? 0 : exponent - 1
      const shift = position % WORD_BITS
      const first = (position - shift) / WORD_BITS
      const sign = value < 0 ? -1 : 1
      const back = WORD_BITS - shift
      words[first] = required(words[first]) + sign * ((low << shift) >>> 0)
      words[first + 1] = required(words[first + 1]) + sign * (((top << shift) | (shift === 0 ? 0 : low >>> back)) >>> 0)
      words[first + 2] = required(words[first + 2]) + sign * (shift === 0 ? 0 : top >>> back)
      if (++uncarried < MAX_UNCARRIED) return
      carry(words)
      uncarried = 0
    },
    dividedBy: (divisor) => nearestDouble(totalOf(words), BigInt(divisor), MIN_EXPONENT),
  }
}

/** Leaves every word but the last between 0 and 2 ** 32. */
function carry(words: Float64Array): void {
  for (let index = 0; index + 1 < words.length; index++) {
    const carried = Math.floor(required(words[index]) / WORD)
    words[index] = required(words[index]) - carried * WORD
    words[index + 1] = required(words[index + 1]) + carried
  }
}

function totalOf(words: Float64Array): bigint {
  let total = 0n
  for (let index = words.length - 1; index >= 0; index--) total = (total << BigInt(WORD_BITS)) + BigInt(required(words[index]))
  return total
}

/** Bits of the significand of a double. */
const PRECISION = 53

/**
 * Returns the double nearest to `numerator / denominator * 2 ** exponent`, the even one of two that are equally near. It is infinite if
 * the value is beyond the doubles. `denominator` is positive.
 */
export function nearestDouble(numerator: bigint, denominator: bigint, exponent = 0): number {
  const size = numerator < 0n ? -numerator : numerator
  if (size === 0n) return 0
  // The value is less than 2 ** (magnitude + 1), and more than 2 ** (magnitude - 1).
  const magnitude = bitLength(size) - bitLength(denominator) + exponent
  let unit = Math.max(MIN_EXPONENT, magnitude - PRECISION)
  let divided = divide(size, denominator, exponent - unit)
  if (divided.quotient >> BigInt(PRECISION) !== 0n) divided = divide(size, denominator, exponent - ++unit)
  const { quotient, remainder, divisor } = divided
  const doubled = remainder * 2n
  const isUp = doubled > divisor || (doubled === divisor && (quotient & 1n) === 1n)
  const near = Number(isUp ? quotient + 1n : quotient) * 2 ** unit
  return numerator < 0n ? -near : near
}

/** Divides `size * 2 ** shift`. */
function divide(size: bigint, denominator: bigint, shift: number) {
  const dividend = shift > 0 ? size << BigInt(shift) : size
  const divisor = shift < 0 ? denominator << BigInt(-shift) : denominator
  const quotient = dividend / divisor
  return { quotient, remainder: dividend - quotient * divisor, divisor }
}

function bitLength(positive: bigint): number {
  const digits = positive.toString(16)
  return (digits.length - 1) * 4 + (32 - Math.clz32(Number.parseInt(digits.slice(0, 1), 16)))
}
