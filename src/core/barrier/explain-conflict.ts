/** Explains a conflict of the storage in terms of the schema: which column and record, never which value. */
import { type Fault, fault, isVaultError, type VaultError, words } from '../errors.ts'
import type { Table } from '../schema/layout.ts'
import { cellDetail, inRecord, type RecordIndex, recordDetail } from './parse-record.ts'

/** Returns a `conflict` with table, column and record; any other error unchanged. `indexes` has the position in the request of each row. */
export function explainConflict(error: unknown, table: Table, indexes: readonly RecordIndex[]): unknown {
  if (!isVaultError(error, 'conflict')) return error
  const column = conflictColumn(error, table)
  const row = error.details[0]?.index
  const index = row === undefined ? undefined : indexes[row]
  return valueTaken(table, column === undefined ? undefined : { name: column }, index)
}

/** Returns the error for a unique value that another record holds. */
export function valueTaken(table: Table, column: { readonly name: string } | undefined, index: RecordIndex): Fault {
  const name = column === undefined ? words('id') : column.name
  const detail = column === undefined ? recordDetail(table, index) : cellDetail(table, column, index)
  return fault(
    'conflict',
    detail,
  )`Another record of table ${table.name} already holds this value of unique column ${name}${inRecord(index)}. Use another value, or upsert.`
}

/** Returns the name of the column whose unique index a conflict of the storage violates; undefined if the storage names none. */
function conflictColumn(error: VaultError, table: Table): string | undefined {
  const physical = error.details[0]?.columns?.[0]
  return physical === undefined ? undefined : table.byPhysical.get(physical)?.name
}
