/** Decimal numbers as written in a text, compared without loss of digits. */

/** The number `0.digits` times ten to the power of `point`. `digits` has no leading or trailing zero; it is empty for zero. */
export interface Decimal {
  readonly isNegative: boolean
  readonly digits: string
  readonly point: number
}

const SPELLING = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/

/** Parses a number. Returns undefined if the text is not a number, or its exponent is not a safe integer. */
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

/** Returns a negative number, zero or a positive number. */
export function compareDecimals(left: Decimal, right: Decimal): number {
  const sign = signOf(left)
  if (sign !== signOf(right)) return sign - signOf(right)
  if (left.point !== right.point) return left.point < right.point ? -sign : sign
  // Both digit strings start directly after the decimal point, so text order is numeric order.
  return left.digits === right.digits ? 0 : left.digits < right.digits ? -sign : sign
}

/** Returns the number with its point moved to the right: times ten to the power of `places`. */
export function shifted({ isNegative, digits, point }: Decimal, places: number): Decimal {
  return { isNegative, digits, point: digits === '' ? 0 : point + places }
}

/** True if the number is an integer. */
export function isWhole({ digits, point }: Decimal): boolean {
  return digits.length <= point || digits === ''
}

/** The largest integer that is not greater, or undefined if the number has more than 19 digits before the point. */
export function floorOf(decimal: Decimal): bigint | undefined {
  const { isNegative, digits, point } = decimal
  if (point > MAX_INTEGER_DIGITS) return undefined
  const whole = point <= 0 ? 0n : BigInt(digits.slice(0, point).padEnd(point, '0'))
  if (!isNegative) return whole
  return isWhole(decimal) ? -whole : -whole - 1n
}

/** Digits of the longest 64-bit integers. */
const MAX_INTEGER_DIGITS = 19

function signOf({ isNegative, digits }: Decimal): number {
  return digits === '' ? 0 : isNegative ? -1 : 1
}
