/** The registry of column types. */

import { inWords, keysOf } from '../util/lists.ts'
import { boolType } from './bool-type.ts'
import { dateType, datetimeType, timeType } from './calendar-types.ts'
import type { ColumnType, ColumnTypeName } from './column-type.ts'
import { decimalType } from './decimal-type.ts'
import { arrayType, jsonType } from './json-types.ts'
import { floatType, integerType } from './number-types.ts'
import { stringType } from './string-type.ts'

/**
 * A column type whose `Value` the code that uses it does not know. Pass its methods only values that `parse`, `fromText`,
 * `read` or `fromCell` of the same type returned.
 */
export type AnyColumnType = ColumnType<unknown>

/** Every type whose values callers write, by its name in a schema. */
export const columnTypes: Readonly<Record<ColumnTypeName, AnyColumnType>> = {
  STRING: stringType,
  INTEGER: integerType,
  // Of a column it is the type of its scale.
  DECIMAL: decimalType(0),
  FLOAT: floatType,
  BOOL: boolType,
  DATE: dateType,
  TIME: timeType,
  DATETIME: datetimeType,
  JSON: jsonType,
  ARRAY: arrayType,
}

/** The names of these types, in the order of the registry. */
export const COLUMN_TYPES: readonly ColumnTypeName[] = keysOf(columnTypes)

/** Returns the names of the types that have a property, as a sentence lists them: `INTEGER or FLOAT`. */
export function typesThat(has: (type: AnyColumnType) => boolean, joint: 'and' | 'or'): string {
  return inWords(
    COLUMN_TYPES.filter((name) => has(columnTypes[name])),
    joint,
  )
}
