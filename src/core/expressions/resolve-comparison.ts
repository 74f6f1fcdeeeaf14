/** Resolves operands to columns and constants, and comparisons of them: which columns are comparable, and how a literal is read for a column. */
import { type Sentence, say, words } from '../errors.ts'
import { unreachable } from '../util/causes.ts'
import { toSafeNumber, ValueError } from '../values/column-type.ts'
import { type AnyColumnType, columnTypes } from '../values/column-types.ts'
import { compareDecimals, type Decimal, floorOf, isWhole, parseDecimal, shifted } from '../values/decimal.ts'
import { compareCodePoints } from '../values/string-type.ts'
import type { ColumnIdentifier, Comparator, Literal, Operand } from './ast.ts'
import { type ColumnRef, type Condition, MIRRORED, satisfies, type Term, truthOf, typeOf } from './condition.ts'
import { LanguageError } from './language-error.ts'
import { withoutValue } from './parameter-values.ts'

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

/** Returns what the values of a column are compared as. Throws a `type` error if they are not compared. */
export function familyOf({ ref, at }: Pick<ColumnOperand, 'ref' | 'at'>): string {
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

/** For FLOAT a number is the nearest double. For exact numbers no digit is lost. */
function compareWithNumber(cell: ColumnOperand, operator: Comparator, literal: Literal & { readonly kind: 'number' }): Condition {
  const decimal = decimalOf(literal)
  const type = typeOf(cell.ref)
  if (type.scale !== undefined) return comparison(cell, operator, exactFor(type, operator, shifted(decimal, type.scale)))
  const value = Number(literal.text)
  if (Number.isFinite(value)) return comparison(cell, operator, { value: value + 0, type: columnTypes.FLOAT })
  throw new LanguageError('range', say`${subjectOf(literal, 'The number')} is too large for a double.`, literal.at)
}

function decimalOf({ text, at }: Literal & { readonly kind: 'number' }): Decimal {
  const decimal = parseDecimal(text)
  if (decimal !== undefined) return decimal
  throw new LanguageError('range', say`The exponent of this number is out of range.`, at)
}

/**
 * Returns an equivalent constant to compare numbers of an exact type with, whose trusted forms are integers as `scaled` is. It has that type if
 * possible: for integers `x > 5.5` is `x > 5`, and `x < 5.5` is `x < 6`. Else it is infinite: nothing equals it.
 */
function exactFor(type: AnyColumnType, operator: Comparator, scaled: Decimal): Typed {
  const floor = floorOf(scaled)
  const bound = floor === undefined || operator !== '<' || isWhole(scaled) ? floor : floor + 1n
  const isSome = bound !== undefined && BigInt.asIntN(64, bound) === bound
  if (isSome && (operator !== '=' || isWhole(scaled))) return { value: toSafeNumber(bound), type }
  const infinite = scaled.isNegative ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  return { value: infinite, type: columnTypes.FLOAT }
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

/** An attribute of a caller. */
export type ContextValue = string | number | boolean

/** An attribute that exists but that no condition can use: a list, an object, or one with two spellings. */
export const UNUSABLE = Symbol('unusable')

/** Resolves the names of a condition. */
export interface NameResolver {
  /** Returns the column of this name. Throws `LanguageError` if there is none. */
  column(name: ColumnIdentifier): ColumnRef
  /**
   * Returns an attribute of the caller, undefined if it is absent, or UNUSABLE. If this method exists, `ctx.name` is an attribute and never a column.
   */
  context?(name: string): ContextValue | typeof UNUSABLE | undefined
}

/** A column operand. */
export interface ColumnOperand {
  readonly kind: 'cell'
  readonly ref: ColumnRef
  readonly at: number
}

/** A literal, or an attribute of the caller's context as the equivalent literal. */
export interface ConstantOperand {
  readonly kind: 'constant'
  readonly literal: Literal
  readonly isFromContext: boolean
  /** True for an attribute that exists and is unusable. Its literal is NULL, and a test for null is unknown too. */
  readonly isUnusable: boolean
  readonly at: number
}

/** One resolved operand. */
export type ResolvedOperand = ColumnOperand | ConstantOperand

/** A condition that is unknown in every row. */
export const UNKNOWN: Condition = truthOf(undefined)

/** The table name of the caller's context. */
const CONTEXT = 'ctx'

/**
 * Resolves the name of an operand. Throws `LanguageError` for an unknown column, for a transient one, whose values are not stored in the
 * row, and for a parameter without a value.
 */
export function resolveOperand(operand: Operand, resolver: NameResolver): ResolvedOperand {
  const { at } = operand
  if (operand.kind === 'parameter') throw withoutValue(at)
  if (operand.kind !== 'column') return { kind: 'constant', literal: operand, isFromContext: false, isUnusable: false, at }
  if (operand.table === CONTEXT && resolver.context !== undefined) {
    const value = resolver.context(operand.name)
    const isUnusable = value === UNUSABLE
    return { kind: 'constant', literal: literalOf(isUnusable ? undefined : value, at), isFromContext: true, isUnusable, at }
  }
  const ref = resolver.column(operand)
  if (ref.column?.token?.expires === true) {
    throw new LanguageError('rule', say`${capitalize(nameOf(ref))} is transient and cannot be used in a condition.`, at)
  }
  return { kind: 'cell', ref, at }
}

/** An absent attribute is NULL. So is a number that cannot be written as a literal. */
function literalOf(value: ContextValue | undefined, at: number): Literal {
  switch (typeof value) {
    case 'string':
      return { kind: 'text', text: value, at }
    case 'number':
      return Number.isFinite(value) ? { kind: 'number', text: String(value), at } : { kind: 'null', at }
    case 'boolean':
      return { kind: 'boolean', value, at }
    case 'undefined':
      return { kind: 'null', at }
    default:
      return unreachable(value)
  }
}

/**
 * Throws the error of two operands that do not match. If one comes from the caller's context, returns UNKNOWN instead: the author of the
 * text cannot know the attribute's type.
 */
export function mismatch(fault: LanguageError, ...operands: readonly ResolvedOperand[]): Condition {
  if (operands.some((operand) => operand.kind === 'constant' && operand.isFromContext)) return UNKNOWN
  throw fault
}

/** The sentence with its first letter in upper case. */
function capitalize({ texts, pieces }: Sentence): Sentence {
  const [first = '', ...others] = texts
  const [piece, ...rest] = pieces
  if (first === '' && typeof piece === 'object') return { texts, pieces: [capitalize(piece), ...rest] }
  return { texts: [first.slice(0, 1).toUpperCase() + first.slice(1), ...others], pieces }
}

/** A column as a part of a sentence. */
export function nameOf({ column }: ColumnRef): Sentence {
  return column === undefined ? words('the record id') : say`column ${column.name}`
}

/** An operand and its type as a part of a sentence. */
export function describe(operand: ResolvedOperand): Sentence {
  if (operand.kind === 'constant') return describeLiteral(operand.literal)
  return operand.ref.column === undefined
    ? nameOf(operand.ref)
    : say`${nameOf(operand.ref)} of type ${words(typeOf(operand.ref).name)}`
}

/** The name of the parameter whose value a literal is, at the beginning of a sentence; otherwise `written`, as in "This pattern". */
function subjectOf({ parameter }: Literal, written: string): Sentence {
  return words(parameter === undefined ? written : `Parameter $${parameter}`)
}

function describeLiteral({ kind, parameter }: Literal): Sentence {
  return words(parameter === undefined ? NOUNS[kind] : `parameter $${parameter} (${NOUNS[kind]})`)
}

const NOUNS: Readonly<Record<Literal['kind'], string>> = {
  text: 'a string',
  number: 'a number',
  boolean: 'TRUE or FALSE',
  null: 'NULL',
}
