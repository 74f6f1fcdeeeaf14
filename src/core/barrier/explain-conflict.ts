/** Explains a conflict of storage by the schema: which column, never which value. */
import type { Fault, VaultError } from '../errors.ts'
import { fault, isVaultError, words } from '../errors.ts'
import type { Table } from '../schema/layout.ts'
import type { RecordIndex } from './parse-record.ts'
import { cellDetail, inRecord, recordDetail } from './parse-record.ts'

/** A unique conflict by table, column and record; any other error as it is. `indexes` gives the position in the request of each row. */
export function explainConflict(error: unknown, table: Table, indexes: readonly RecordIndex[]): unknown {
  if (!isVaultError(error, 'conflict')) return error
  const column = conflictColumn(error, table)
  const row = error.details[0]?.index
  const index = row === undefined ? undefined : indexes[row]
  return valueTaken(table, column === undefined ? undefined : { name: column }, index)
}

/** The error for a unique value that another record holds. */
export function valueTaken(table: Table, column: { readonly name: string } | undefined, index: RecordIndex): Fault {
  const name = column === undefined ? words('id') : column.name
  const detail = column === undefined ? recordDetail(table, index) : cellDetail(table, column, index)
  return fault(
    'conflict',
    detail,
  )`Another record of table ${table.name} already holds this value of unique column ${name}${inRecord(index)}. Use another value, or upsert.`
}

/** The column whose uniqueness a storage conflict is about. */
export function conflictColumn(error: VaultError, table: Table): string | undefined {
  return table.byPhysical.get(error.details[0]?.columns?.[0] ?? '')?.name
}
