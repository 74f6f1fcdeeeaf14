/** Rounds a fraction of integers to the nearest double, once. */

/** Bits of the significand of a double. */
const PRECISION = 53
/** Exponent of the least positive double. */
const MIN_EXPONENT = -1074

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
