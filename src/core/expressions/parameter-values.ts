/** The values of parameters, which become literals: a query with values means what it means with these literals in their places. */
import { fault, say, words } from '../errors.ts'
import type { QueryLimits } from '../limits.ts'
import { datetimeType } from '../values/calendar-types.ts'
import { ValueError } from '../values/column-type.ts'
import type { Literal } from './ast.ts'
import { LanguageError } from './language-error.ts'

/** A value for a parameter of a query. A `Date` is the text of a DATETIME. */
export type QueryValue = string | number | bigint | boolean | null | Date

/** A value that cannot change. */
export type FixedValue = Exclude<QueryValue, Date>

/** The supported values, for errors. */
export const SUPPORTED_VALUES = 'a string, a finite number, a bigint, a boolean, null or a Date'

/** Longest bigint, in bits. No column has values above 1,024 bits, and the digits of longer ones take long to make. */
const MAX_BIGINT_BITS = 2048

/** Returns the literals of a list of values: the first for `$1`. They have no place yet. Throws `invalid_request`, `limit_exceeded`. */
export function toLiterals(values: unknown, { maxQueryLexemes }: QueryLimits): readonly Literal[] {
  if (values === undefined) return []
  if (!Array.isArray(values)) throw fault('invalid_request')`The values of a query must be a list.`
  const { length } = values
  if (length > maxQueryLexemes) throw fault('limit_exceeded')`A query has at most ${maxQueryLexemes} values.`
  return Array.from({ length }, (_, index) => {
    const value = fixed(values[index])
    if (value !== undefined) return toLiteral(value, index + 1)
    throw fault('invalid_request')`The value of parameter ${words(`$${index + 1}`)} must be ${words(SUPPORTED_VALUES)}.`
  })
}

/** Returns a value as it is now, with a Date as text; undefined for what no parameter takes. */
export function fixed(value: unknown): FixedValue | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) ? value : undefined
    case 'bigint':
      return BigInt.asIntN(MAX_BIGINT_BITS, value) === value ? value : undefined
    case 'object':
      return value === null ? null : dateText(value)
    default:
      return undefined
  }
}

/** The error of a parameter for which the caller gave no value. Its number is not repeated: it may be a value behind a `$`. */
export function withoutValue(at: number): LanguageError {
  return new LanguageError('syntax', say`This parameter has no value.`, at)
}

function toLiteral(value: FixedValue, parameter: number): Literal {
  const at = 0
  switch (typeof value) {
    case 'string':
      return { kind: 'text', text: value, at, parameter }
    case 'boolean':
      return { kind: 'boolean', value, at, parameter }
    case 'object':
      return { kind: 'null', at, parameter }
    default:
      return { kind: 'number', text: String(value), at, parameter }
  }
}

/** Returns the text of a Date as a record accepts it; undefined for any other object, and for a Date that no DATETIME has. */
function dateText(value: object): string | undefined {
  try {
    return datetimeType.parse(value)
  } catch (error) {
    if (error instanceof ValueError) return undefined
    throw error
  }
}
