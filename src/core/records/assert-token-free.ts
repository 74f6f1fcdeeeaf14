/** Refuses supplied tokens that are in use without being stored: tokens derived from values of live records. */
import { isSameValue } from '../barrier/digest-values.ts'
import { cellDetail, inRecord, type RecordIndex } from '../barrier/parse-record.ts'
import type { Fault } from '../errors.ts'
import { fault, VaultError } from '../errors.ts'
import type { StorageReads } from '../ports/storage.ts'
import type { ReadingContext } from '../row-access/reading-context.ts'
import type { Column, Table } from '../schema/layout.ts'
import { resolveDerived } from './resolve-tokens.ts'
import type { WriteRequest } from './write-request.ts'

/** Throws `conflict` for a supplied token that a live value derives, unless it is supplied for that same value. */
export async function assertTokensFree(
  storage: StorageReads,
  context: ReadingContext,
  { table, records, supplied, indexes }: WriteRequest,
): Promise<void> {
  const given = supplied.flatMap((tokens, row) =>
    [...(tokens ?? [])].flatMap(([name, text]) => {
      const column = table.byName.get(name)
      return column === undefined ? [] : [{ row, column, text }]
    }),
  )
  const found = await resolveDerived(
    storage,
    context,
    given.map(({ text }) => text),
  )
  for (const [k, { row, column }] of given.entries()) {
    const other = found[k]
    if (other === undefined) continue
    const value = records[row]?.[column.position]
    const isOwn = !(other instanceof VaultError) && other.column.scope === column.scope && isSameValue(column, other.value, value)
    if (!isOwn) throw tokenTaken(table, column, indexes[row])
  }
}

/** Returns the error for a supplied token that is already in use. */
export function tokenTaken(table: Table, column: Pick<Column, 'name'>, index: RecordIndex): Fault {
  const detail = cellDetail(table, column, index)
  return fault(
    'conflict',
    detail,
  )`The token for column ${column.name} of table ${table.name} is already in use${inRecord(index)}. Use another.`
}
