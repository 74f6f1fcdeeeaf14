/** How errors name records, cells and columns, in terms of the schema and never by a value: also conflicts of the storage, and rows that were changed there. */
import {
  type ErrorDetail,
  type Fault,
  fault,
  isVaultError,
  printableName,
  type Sentence,
  say,
  type VaultError,
  words,
} from '../errors.ts'
import type { KeyRing } from '../ports/crypto.ts'
import type { Row } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { encodeRecordIds } from './record-ids.ts'

/** Index of a record in its request, from 0; undefined for the one record of an update. */
export type RecordIndex = number | undefined

/** Returns the error for a column that does not exist. A column that is invisible to the caller gives the same error. */
export function unknownColumn(table: string, column: unknown): Fault {
  const name = printableName(column)
  return fault('invalid_request', { table, column: name })`Column ${name} of table ${table} is invalid. Specify a valid column.`
}

/** Returns the error detail of a record. */
export function recordDetail(table: Pick<Table, 'name'>, index: RecordIndex): ErrorDetail {
  return { table: table.name, ...(index === undefined ? {} : { index }) }
}

/** Returns the error detail of a cell. */
export function cellDetail(table: Pick<Table, 'name'>, column: Pick<Column, 'name'>, index: RecordIndex): ErrorDetail {
  return { ...recordDetail(table, index), column: column.name }
}

/** Returns the path of a record in a message: `records[3]`, or `record`. */
export function recordPath(index: RecordIndex): Sentence {
  return index === undefined ? words('record') : say`records[${index}]`
}

/** Returns the path of a record for the end of a sentence: ` (records[3])`, or nothing. */
export function inRecord(index: RecordIndex): Sentence {
  return index === undefined ? words('') : say` (records[${index}])`
}

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

/** True for a version that no update can raise: versions begin with 1, so it was changed in the database. It is not exact as a number either. */
export function hasImpossibleVersion({ version }: Pick<Row, 'version'>): boolean {
  return !Number.isSafeInteger(version)
}

/** Throws `data_loss`, with table and record id, for the first of these rows that has an impossible version. */
export function assertVersions({ ring }: { readonly ring: KeyRing }, table: Table, rows: readonly Row[]): void {
  const row = rows.find(hasImpossibleVersion)
  if (row === undefined) return
  const [id = ''] = encodeRecordIds(ring, table, [row.id])
  throw fault('data_loss', {
    table: table.name,
    id,
  })`Record ${words(id)} of table ${table.name} has a version that no update can raise: it was changed in the database. Restore it.`
}
