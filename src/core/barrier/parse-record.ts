/** Parses the untrusted fields of a record into a list of values by column position. */
import { type ErrorCode, type Fault, fault, say, words } from '../errors.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { type JsonBudget, ValueError } from '../values/column-type.ts'
import { cellDetail, inRecord, type RecordIndex, recordDetail, recordPath, unknownColumn } from './record-errors.ts'

/** The values of a record by column position: undefined for a column that is not named, null for one that is named as null. */
export type Values = readonly unknown[]

/** The position of a record, and what the values of its request can still hold. */
export interface ParsedPlace {
  readonly index: RecordIndex
  readonly json: JsonBudget
  /** True if a value that is a string is the text of a value, as a file has it. Default false: it is itself. */
  readonly areTexts?: boolean
}

/** Returns the values of one record. Throws `invalid_request` for an unknown column, `unprocessable` for a value that its column does not accept, `limit_exceeded` for one with too many members. */
export function parseFields(table: Table, fields: unknown, place: ParsedPlace): Values {
  const { index } = place
  if (!isFields(fields)) {
    throw fault('invalid_request', recordDetail(table, index))`${recordPath(index)}.fields must be an object of values by column.`
  }
  const values: unknown[] = new Array(table.columns.length)
  // `fill` calls the runtime, which costs as much as parsing a value.
  for (let position = 0; position < values.length; position++) values[position] = undefined
  for (const name of Object.keys(fields)) {
    const column = table.byName.get(name)
    if (column === undefined) throw unknownColumn(table.name, name)
    const value = fields[name]
    if (value !== undefined) values[column.position] = parseValue(table, column, value, place)
  }
  return values
}

const HOLDS_FILE = 'holds a file, so it takes no value, not even null: use uploadFile or deleteFile'

/** Returns a value of the type of its column. Null is accepted if the column is not required. */
function parseValue(table: Table, column: Column, value: unknown, { index, json, areTexts }: ParsedPlace): unknown {
  if (column.file !== undefined) throw brokenRule(table, column, { index, rule: HOLDS_FILE })
  if (value === null) {
    if (column.required) throw brokenRule(table, column, { index, rule: 'is required and cannot be null' })
    return null
  }
  try {
    const { type } = column
    const parsed = areTexts === true && typeof value === 'string' ? type.fromText(value, json) : type.parse(value, json)
    column.validate?.(parsed, column.type)
    return parsed
  } catch (error) {
    if (error instanceof ValueError) throw brokenRule(table, column, { index, rule: error.message, code: codeOf(error) })
    throw error
  }
}

/** A value in a list of a request; `list` is the path of the list. */
interface ListedValue {
  readonly value: unknown
  readonly list: string
  /** Undefined for a value that is not in a list: then `list` is its own path. */
  readonly index: RecordIndex
  /** True if the value is its text, as a wire has it: in process the text 1 is not the number 1. */
  readonly isText: boolean
  readonly json: JsonBudget
}

/** Returns a value of a column. Throws `unprocessable` that names the position, table and column. */
export function parseListedValue(table: Table, column: Column, { value, list, index, isText, json }: ListedValue): unknown {
  try {
    return isText && typeof value === 'string' ? column.type.fromText(value, json) : column.type.parse(value, json)
  } catch (error) {
    if (!(error instanceof ValueError)) throw error
    const path = index === undefined ? words(list) : say`${words(list)}[${index}]`
    const detail = cellDetail(table, column, index)
    throw fault(codeOf(error), detail)`${path} for column ${column.name} of table ${table.name} ${words(error.message)}.`
  }
}

/** Throws `unprocessable` for a record to insert that lacks a required column. */
export function assertComplete(table: Table, values: Values, index: RecordIndex): void {
  for (const column of table.columns) {
    const value = values[column.position]
    if (column.required && (value === undefined || value === null))
      throw brokenRule(table, column, { index, rule: 'is required but missing' })
  }
}

function brokenRule(
  table: Table,
  column: Column,
  { index, rule, code = 'unprocessable' }: { readonly index: RecordIndex; readonly rule: string; readonly code?: ErrorCode },
): Fault {
  const detail = cellDetail(table, column, index)
  return fault(code, detail)`Column ${column.name} of table ${table.name} ${words(rule)}${inRecord(index)}.`
}

/** Returns the code of the error for a value that its column does not accept. */
function codeOf({ isLimit }: ValueError): 'limit_exceeded' | 'unprocessable' {
  return isLimit ? 'limit_exceeded' : 'unprocessable'
}

/** True for an object of values by column. A map, a date or a list is refused, because it would be stored as an empty record. */
function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.prototype.toString.call(value) === '[object Object]'
}
