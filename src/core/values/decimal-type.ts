/** DECIMAL: exact decimal numbers of at most 18 digits. The column says how many of them follow the point. */
import * as z from 'zod'
import { at } from '../util/lists.ts'
import { type ColumnType, toSafeNumber, ValueError } from './column-type.ts'
import { type Decimal, floorOf, isWhole, parseDecimal, shifted } from './decimal.ts'
import { integerType } from './number-types.ts'
import { foldNumber } from './spelling.ts'

/** Digits of the longest number: as many nines are less than 2^63, so that the number without its point fits a cell of 64 bits in every engine. */
const MAX_DECIMAL_DIGITS = 18
/** Digits that a double keeps of every decimal number. Beyond them it may be another number than its author wrote. */
const EXACT_DIGITS = 15
/** Length of the longest text that is read. */
const MAX_TEXT_LENGTH = 64
const SPELLING = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/

/** Returns the type of the numbers with this many digits behind the point, always the same for one scale. */
export function decimalType(scale: number): ColumnType<number | bigint> {
  return at(TYPES, scale)
}

/** One type for each scale. */
const TYPES: readonly ColumnType<number | bigint>[] = Array.from({ length: MAX_DECIMAL_DIGITS + 1 }, (_, scale) =>
  typeOfScale(scale),
)

/**
 * Trusted form: the number without its point, 1250 for 12.50, as an INTEGER has it. Sealed form, cells and digests are those of that integer. Each scale
 * has a tag of its own, so that a body or digest of one is never taken for that of another.
 */
function typeOfScale(scale: number): ColumnType<number | bigint> {
  const form = `must be a decimal number with at most ${MAX_DECIMAL_DIGITS - scale} digits before the point and ${scale} behind it`
  const scaled = (decimal: Decimal | undefined): number | bigint => {
    const number = decimal && shifted(decimal, scale)
    const isKept = number !== undefined && isWhole(number) && number.point <= MAX_DECIMAL_DIGITS
    const whole = isKept ? floorOf(number) : undefined
    if (whole === undefined) throw new ValueError(form)
    return toSafeNumber(whole)
  }
  const type: ColumnType<number | bigint> = {
    ...integerType,
    name: 'DECIMAL',
    tag: 32 + scale,
    scale,
    options: {
      scale: z.int().min(0).max(MAX_DECIMAL_DIGITS),
      oneOf: z.array(z.string()).min(1).max(1000).readonly().optional(),
    },
    parse(input) {
      if (typeof input === 'string') return type.fromText(input)
      if (typeof input === 'bigint') return scaled(parseDecimal(input.toString()))
      if (typeof input !== 'number') throw new ValueError(form)
      const decimal = parseDecimal(String(input))
      if (decimal !== undefined && decimal.digits.length > EXACT_DIGITS && !Number.isSafeInteger(input))
        throw new ValueError(`must be a string beyond ${EXACT_DIGITS} digits, because a number loses them`)
      return scaled(decimal)
    },
    fromText(text) {
      if (text.length > MAX_TEXT_LENGTH || !SPELLING.test(text)) throw new ValueError(form)
      return scaled(parseDecimal(text))
    },
    toText(value) {
      const digits = value
        .toString()
        .replace('-', '')
        .padStart(scale + 1, '0')
      const point = digits.length - scale
      return `${value < 0 ? '-' : ''}${digits.slice(0, point)}${scale === 0 ? '' : `.${digits.slice(point)}`}`
    },
    isSpelledBy: (value, text) => foldNumber(type.toText(value)) === foldNumber(text),
    toJson: (value) => type.toText(value),
  }
  return type
}

/** What is known of a type of numbers. */
type NumberType = Pick<ColumnType<never>, 'scale'> & { toText(value: unknown): string }

/** Returns how numbers of two types compare: exactly where both are exact, else as doubles, as in PostgreSQL. */
export function numberComparison(left: NumberType, right: NumberType): (one: unknown, other: unknown) => number | undefined {
  if (left.scale === undefined || right.scale === undefined)
    return (one, other) => nearestNumber(left, one) - nearestNumber(right, other)
  const [ofLeft, ofRight] = [10n ** BigInt(right.scale), 10n ** BigInt(left.scale)]
  // Values of an exact type are integers.
  return (one, other) => integerType.compare(BigInt(one as bigint) * ofLeft, BigInt(other as bigint) * ofRight)
}

/** Returns the double nearest to a number. */
export function nearestNumber({ scale = 0, toText }: NumberType, value: unknown): number {
  return Number(scale === 0 ? value : toText(value))
}
