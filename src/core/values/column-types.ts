/** The registry of column types. */
import { arrayType } from './array-type.ts'
import { boolType } from './bool-type.ts'
import type { ColumnType, ColumnTypeName } from './column-type.ts'
import { dateType } from './date-type.ts'
import { datetimeType } from './datetime-type.ts'
import { floatType } from './float-type.ts'
import { integerType } from './integer-type.ts'
import { jsonType } from './json-type.ts'
import { stringType } from './string-type.ts'
import { timeType } from './time-type.ts'

/**
 * A column type whose `Value` the code that uses it does not know. Pass its methods only values that `parse`, `fromText`,
 * `read` or `fromCell` of the same type returned.
 */
export type AnyColumnType = ColumnType<unknown>

/** Every type whose values callers write, by its name in a schema. */
export const columnTypes: Readonly<Record<ColumnTypeName, AnyColumnType>> = {
  STRING: stringType,
  INTEGER: integerType,
  FLOAT: floatType,
  BOOL: boolType,
  DATE: dateType,
  TIME: timeType,
  DATETIME: datetimeType,
  JSON: jsonType,
  ARRAY: arrayType,
}
