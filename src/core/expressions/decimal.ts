/** Numbers as they are spelled in a text, compared without losing a digit. */

/** `0.digits` times ten to the power of `point`. The digits have no zero at either end; zero has no digits. */
export interface Decimal {
  readonly isNegative: boolean
  readonly digits: string
  readonly point: number
}

const SPELLING = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/

/** Reads a spelled number; undefined where it is none, or has an exponent that cannot be reckoned with. */
export function parseDecimal(text: string): Decimal | undefined {
  const found = SPELLING.exec(text)
  if (found === null) return undefined
  const [, sign, whole = '', fraction = '', power = '0'] = found
  const exponent = Number(power)
  if (whole + fraction === '' || !Number.isSafeInteger(exponent)) return undefined
  const all = whole + fraction
  let from = 0
  while (all[from] === '0') from++
  let to = all.length
  while (to > from && all[to - 1] === '0') to--
  if (from === to) return { isNegative: false, digits: '', point: 0 }
  return { isNegative: sign === '-', digits: all.slice(from, to), point: whole.length - from + exponent }
}

/** Negative, zero or positive. */
export function compareDecimals(left: Decimal, right: Decimal): number {
  const sign = signOf(left)
  if (sign !== signOf(right)) return sign - signOf(right)
  if (left.point !== right.point) return left.point < right.point ? -sign : sign
  // Both begin right behind the point, so digits order as the letters of a word do.
  return left.digits === right.digits ? 0 : left.digits < right.digits ? -sign : sign
}

/** True where there is nothing behind the point. */
export function isWhole({ digits, point }: Decimal): boolean {
  return digits.length <= point || digits === ''
}

/** The largest integer that is not above it; undefined where it is further from zero than any of 64 bits. */
export function floorOf(decimal: Decimal): bigint | undefined {
  const { isNegative, digits, point } = decimal
  if (point > MAX_INTEGER_DIGITS) return undefined
  const whole = point <= 0 ? 0n : BigInt(digits.slice(0, point).padEnd(point, '0'))
  if (!isNegative) return whole
  return isWhole(decimal) ? -whole : -whole - 1n
}

/** Digits of the longest integers of 64 bits. */
const MAX_INTEGER_DIGITS = 19

function signOf({ isNegative, digits }: Decimal): number {
  return digits === '' ? 0 : isNegative ? -1 : 1
}
