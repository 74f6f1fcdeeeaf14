/** Untrusted fields to trusted values, one list by column position for each record. */
import { type Fault, fault, printableName, VaultError } from '../errors.ts'
import type { Column, Table } from '../schema/layout.ts'
import { ValueFault } from '../values/column-type.ts'

/** A record's values by column position: undefined where the column was not named, null where it was named null. */
export type Values = readonly unknown[]

/** What an error about a record says it was part of. */
export interface Place {
  /** "Insert", "Update": the first word of the message. */
  readonly verb: string
  /** Position of the record in the request. */
  readonly index: number
}

/** Checks the names and values of one record. Throws `invalid_request` for names, `unprocessable` for values. */
export function parseFields(table: Table, fields: unknown, place: Place): Values {
  if (!isFields(fields)) {
    throw new VaultError(
      'invalid_request',
      `${place.verb} failed. Record ${place.index} needs fields: an object of values by column.`,
      {
        table: table.name,
        index: place.index,
      },
    )
  }
  const values: unknown[] = new Array(table.columns.length).fill(undefined)
  const names = Object.keys(fields)
  for (let i = 0; i < names.length; i++) {
    const name = names[i] ?? ''
    const column = table.byName.get(name)
    if (column === undefined) throw unknownColumn(table.name, name)
    const value = fields[name]
    if (value !== undefined) values[column.position] = parseValue(table, column, value, place)
  }
  return values
}

/** Checks one value against its column's type and rules; null passes where the column is not required. */
export function parseValue(table: Table, column: Column, value: unknown, place: Place): unknown {
  if (value === null) {
    if (column.required) throw broken(table, column, place, 'is required and must not be null')
    return null
  }
  try {
    const parsed = column.type.parse(value)
    column.check?.(parsed, column.type)
    return parsed
  } catch (error) {
    if (error instanceof ValueFault) throw broken(table, column, place, error.message)
    throw error
  }
}

/** Refuses a record to be inserted that lacks a required column. */
export function assertComplete(table: Table, values: Values, place: Place): void {
  for (const column of table.columns) {
    if (column.required && (values[column.position] === undefined || values[column.position] === null)) {
      throw broken(table, column, place, 'is required and is missing')
    }
  }
}

/** The one answer to a column that does not exist and to one the caller may not know of. */
export function unknownColumn(table: string, column: unknown): Fault {
  const name = printableName(column)
  return fault('invalid_request', { table, column: name })`Column ${name} of table ${table} is invalid. Specify a valid column.`
}

function broken(table: Table, column: Column, place: Place, rule: string): VaultError {
  return new VaultError(
    'unprocessable',
    `${place.verb} failed. Column ${column.name} of table ${table.name} ${rule} (record ${place.index}).`,
    {
      table: table.name,
      column: column.name,
      index: place.index,
    },
  )
}

/** True for an object of values by column; a map, a date or a list is none, and would be stored as an empty record. */
function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.prototype.toString.call(value) === '[object Object]'
}
