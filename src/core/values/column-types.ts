/** Every type a column can have, by name. */
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
 * A type whose values the holder does not look into. Hand a method only what the same type's `parse`, `fromText`, `read`
 * or `fromCell` answered: a column carries its type and its values together, and nothing else makes values.
 */
export type AnyColumnType = ColumnType<unknown>

/** The registry. A type stands here or no column can have it. */
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
