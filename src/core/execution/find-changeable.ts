/** Finds the records to change or delete by the value of a column: those that a read by the column returns. */

import { type Fault, fault, words } from '../errors.ts'
import type { RequiredGrant, TableAccess } from '../policy/table-access.ts'
import type { FoundRows } from '../row-access/evaluate-access.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { parseList } from './check-input.ts'
import type { OperationContext, ParsingContext } from './context.ts'
import { findRecords, type Lookup } from './find-records.ts'
import { requireAccess } from './grants.ts'

/** The records that are meant: one column, unique, searchable, indexed or with deterministic tokens, and its value in them, or a list of values. */
export type Where = Readonly<Record<string, unknown>>

/**
 * Returns the look-up of a request. Throws `invalid_request` unless it names one column: a second one would not narrow it, and a value that
 * is undefined would widen it.
 */
export function parseWhere(context: ParsingContext, where: unknown): Lookup {
  const columns = typeof where === 'object' && where !== null && !Array.isArray(where) ? Object.entries(where) : []
  const [first, ...others] = columns
  if (first === undefined || others.length > 0 || first[1] === undefined)
    throw fault('invalid_request')`where must be an object with one column, and its value or a list of values.`
  const [name, value] = first
  const values = Array.isArray(value) ? parseList(context, value, 'values of where') : [value]
  return { columnName: name, values, isList: Array.isArray(value), areTexts: false }
}

/** Returns the caller's access to the table. Throws `forbidden` if it covers no read, or not the action. */
export function requireChangeAccess(
  context: OperationContext,
  table: TableAccess['table'],
  action: 'UPDATE' | 'DELETE',
): TableAccess {
  requireAccess(context, table, 'READ')
  return requireAccess(context, table, action)
}

/** A read that begins at the first record, and does not go on. */
const FIRST_PAGE = { after: undefined, isResumable: false, signal: undefined } as const

/**
 * Returns the records with one of the values that are visible to the caller, in the order of insertion. Needs what a read by the column
 * needs. Throws `limit_exceeded` if there are more than `limits.maxRecords`, so that a wide condition changes nothing.
 */
export async function findChangeable(
  { unit, ...context }: OperationContext & { readonly unit: UnitOfWork },
  access: TableAccess,
  lookup: Lookup,
): Promise<FoundRows> {
  const { maxRecords } = context.limits
  const page = { order: 'asc', limit: maxRecords + 1 } as const
  const found = await findRecords({ ...context, unit }, access, { ...FIRST_PAGE, page, lookup })
  if (found.rows.length <= maxRecords) return found
  const { name } = access.table
  throw fault('limit_exceeded', {
    table: name,
  })`More than ${maxRecords} records of table ${name} have these values. Pass fewer values, or raise limits.maxRecords.`
}

/** Throws `not_found` if the caller can read a record and not change it: for the change, it does not exist. */
export function assertChangeable(access: TableAccess, { rows, ids }: FoundRows, need: RequiredGrant): void {
  const missing = rows.flatMap((row, index) => (row.access.meets(need) ? [] : [index]))
  if (missing.length > 0) throw notChangeable(access, ids, missing)
}

/** The error for found records that the caller cannot change. They are visible, so their ids are named. */
export function notChangeable({ table }: TableAccess, ids: readonly string[], missing: readonly number[]): Fault {
  const details = missing.flatMap((index) => {
    const id = ids[index]
    return id === undefined ? [] : [{ table: table.name, id }]
  })
  return fault(
    'not_found',
    details,
  )`${missing.length} of the records of table ${table.name} with these values ${words(missing.length === 1 ? 'is not one' : 'are not some')} that the caller can change. Ask the vault owner for the grant, or name the records by their ids.`
}
