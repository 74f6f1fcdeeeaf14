/** Resolves comparisons: which columns are comparable, and how a literal is read for a column. No digit of a number is lost. */
import { say, words } from '../errors.ts'
import { unreachable } from '../util/causes.ts'
import { ValueError } from '../values/column-type.ts'
import { type AnyColumnType, columnTypes } from '../values/column-types.ts'
import { compareCodePoints } from '../values/string-type.ts'
import type { Comparator, Literal } from './ast.ts'
import { type Condition, MIRRORED, satisfies, type Term, truthOf, typeOf } from './condition.ts'
import { LanguageError } from './language-error.ts'
import {
  type ColumnOperand,
  type ConstantOperand,
  capitalize,
  describe,
  mismatch,
  nameOf,
  type ResolvedOperand,
  subjectOf,
  UNKNOWN,
} from './resolve-operand.ts'

/** Returns the comparison of two operands. Throws `LanguageError` if they are not comparable. */
export function resolveComparison(operator: Comparator, left: ResolvedOperand, right: ResolvedOperand): Condition {
  if (left.kind === 'constant') {
    return right.kind === 'constant' ? compareConstants(operator, left, right) : compareWith(right, MIRRORED[operator], left)
  }
  return right.kind === 'constant' ? compareWith(left, operator, right) : compareColumns(operator, left, right)
}

function compareColumns(operator: Comparator, left: ColumnOperand, right: ColumnOperand): Condition {
  if (familyOf(left) !== familyOf(right)) throw incomparable(left, right)
  return { kind: 'compare', operator, left: termOf(left), right: termOf(right) }
}

/** A column as a term. */
export function termOf({ ref }: ColumnOperand): Term {
  return { kind: 'cell', ref }
}

function familyOf({ ref, at }: ColumnOperand): string {
  const { comparesAs } = typeOf(ref)
  if (comparesAs !== undefined) return comparesAs
  throw new LanguageError(
    'type',
    say`The values of ${nameOf(ref)} cannot be compared. Only IS NULL and IS NOT NULL are supported for it.`,
    at,
  )
}

function incomparable(left: ResolvedOperand, right: ResolvedOperand): LanguageError {
  return new LanguageError('type', say`${capitalize(describe(left))} cannot be compared with ${describe(right)}.`, right.at)
}

/** Compares a column with a constant. The constant is parsed as a value of the column's type. */
function compareWith(cell: ColumnOperand, operator: Comparator, constant: ConstantOperand): Condition {
  const family = familyOf(cell)
  const { literal } = constant
  switch (literal.kind) {
    case 'null':
      return UNKNOWN
    case 'text':
      return compareWithText(cell, operator, { constant, text: literal.text })
    case 'boolean':
      if (family !== 'boolean') return mismatch(incomparable(cell, constant), constant)
      return comparison(cell, operator, { value: literal.value, type: typeOf(cell.ref) })
    case 'number':
      if (family !== 'number') return mismatch(incomparable(cell, constant), constant)
      return compareWithNumber(cell, operator, literal)
    default:
      return unreachable(literal)
  }
}

/** A value and the type that parsed it. */
interface Typed {
  readonly value: unknown
  readonly type: AnyColumnType
}

function comparison(cell: ColumnOperand, operator: Comparator, { value, type }: Typed): Condition {
  return { kind: 'compare', operator, left: termOf(cell), right: { kind: 'constant', value, type } }
}

function compareWithText(
  cell: ColumnOperand,
  operator: Comparator,
  { constant, text }: { readonly constant: ConstantOperand; readonly text: string },
): Condition {
  const type = typeOf(cell.ref)
  // An id has one spelling, and can be asked for in capitals. By other operators it is text.
  const isId = cell.ref.column === undefined && operator === '=' && UUID.test(text)
  try {
    return comparison(cell, operator, { value: readText(type, isId ? text.toLowerCase() : text), type })
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    return mismatch(
      new LanguageError(
        'type',
        say`${subjectOf(constant.literal, 'The literal')} compared with ${nameOf(cell.ref)} ${words(error.message)}.`,
        constant.at,
      ),
      constant,
    )
  }
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Parses a quoted literal as the column's type. */
function readText(type: AnyColumnType, text: string): unknown {
  return type.fromLiteral === undefined ? type.fromText(text) : type.fromLiteral(text)
}

/** For FLOAT a number is the nearest double. For INTEGER no digit is lost. */
function compareWithNumber(cell: ColumnOperand, operator: Comparator, literal: Literal & { readonly kind: 'number' }): Condition {
  const decimal = decimalOf(literal)
  if (typeOf(cell.ref).physical === 'integer') return comparison(cell, operator, integerFor(operator, decimal))
  const value = Number(literal.text)
  if (Number.isFinite(value)) return comparison(cell, operator, { value: value + 0, type: columnTypes.FLOAT })
  throw new LanguageError('range', say`${subjectOf(literal, 'The number')} is too large for a double.`, literal.at)
}

function decimalOf({ text, at }: Literal & { readonly kind: 'number' }): Decimal {
  const decimal = parseDecimal(text)
  if (decimal !== undefined) return decimal
  throw new LanguageError('range', say`The exponent of this number is out of range.`, at)
}

/** A constant that no integer equals. */
const NO_INTEGER: Typed = { value: 0.5, type: columnTypes.FLOAT }
/** Every 64-bit integer is less than this, and greater than its negative. */
const BEYOND_INTEGERS = 2 ** 64

/**
 * Returns an equivalent constant to compare integers with. It is an integer if possible: `x > 5.5` is `x > 5`, and `x < 5.5` is `x < 6`.
 */
function integerFor(operator: Comparator, decimal: Decimal): Typed {
  const floor = floorOf(decimal)
  if (operator === '=' && !isWhole(decimal)) return NO_INTEGER
  const bound = floor === undefined || operator !== '<' || isWhole(decimal) ? floor : floor + 1n
  if (bound !== undefined && BigInt.asIntN(64, bound) === bound) {
    return { value: columnTypes.INTEGER.parse(bound), type: columnTypes.INTEGER }
  }
  return { value: decimal.isNegative ? -BEYOND_INTEGERS : BEYOND_INTEGERS, type: columnTypes.FLOAT }
}

/** Compares two constants at once. */
function compareConstants(operator: Comparator, left: ConstantOperand, right: ConstantOperand): Condition {
  const [one, other] = [left.literal, right.literal]
  if (one.kind === 'null' || other.kind === 'null') return UNKNOWN
  if (one.kind === 'text' && other.kind === 'text') return truthOf(satisfies(operator, compareCodePoints(one.text, other.text)))
  if (one.kind === 'boolean' && other.kind === 'boolean')
    return truthOf(satisfies(operator, Number(one.value) - Number(other.value)))
  if (one.kind === 'number' && other.kind === 'number') {
    return truthOf(satisfies(operator, compareDecimals(decimalOf(one), decimalOf(other))))
  }
  return mismatch(incomparable(left, right), left, right)
}

/** The number `0.digits` times ten to the power of `point`. `digits` has no leading or trailing zero; it is empty for zero. */
interface Decimal {
  readonly isNegative: boolean
  readonly digits: string
  readonly point: number
}

const SPELLING = /^(-?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/

/** Parses a number. Returns undefined if the text is not a number, or its exponent is not a safe integer. */
function parseDecimal(text: string): Decimal | undefined {
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
function compareDecimals(left: Decimal, right: Decimal): number {
  const sign = signOf(left)
  if (sign !== signOf(right)) return sign - signOf(right)
  if (left.point !== right.point) return left.point < right.point ? -sign : sign
  // Both digit strings start directly after the decimal point, so text order is numeric order.
  return left.digits === right.digits ? 0 : left.digits < right.digits ? -sign : sign
}

/** True if the number is an integer. */
function isWhole({ digits, point }: Decimal): boolean {
  return digits.length <= point || digits === ''
}

/** The largest integer that is not greater, or undefined if the number has more than 19 digits before the point. */
function floorOf(decimal: Decimal): bigint | undefined {
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
