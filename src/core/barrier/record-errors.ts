/** How errors name records, cells and columns, in terms of the schema and never by a value: also conflicts of the storage, and rows that were changed there. */
import { type ErrorDetail, type Fault, fault, isVaultError, printableName, type Sentence, say, words } from '../errors.ts'
import type { KeyRing } from '../ports/crypto.ts'
import type { Row } from '../ports/storage.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { listNames } from '../schema/unique-together.ts'
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

/** Returns a `conflict` with table, columns and record; any other error unchanged. `indexes` has the position in the request of each row. */
export function explainConflict(error: unknown, table: Table, indexes: readonly RecordIndex[]): unknown {
  if (!isVaultError(error, 'conflict')) return error
  const [{ index: row, columns = [] } = {}] = error.details
  const index = row === undefined ? undefined : indexes[row]
  return valueTaken(
    table,
    columns.flatMap((physical) => table.byPhysical.get(physical)?.name ?? []),
    index,
  )
}

/** Returns the error for the values of a unique key that another record holds, with a detail for each of its columns. Without columns it is the id. */
export function valueTaken(table: Table, columns: readonly string[], index: RecordIndex): Fault {
  const details = columns.map((name) => cellDetail(table, { name }, index))
  const held =
    columns.length < 2
      ? say`this value of unique column ${columns[0] ?? words('id')}`
      : say`these values of columns ${listNames(columns)}, which are unique together`
  return fault(
    'conflict',
    details.length === 0 ? recordDetail(table, index) : details,
  )`Another record of table ${table.name} already holds ${held}${inRecord(index)}. Use another value, or upsert.`
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
