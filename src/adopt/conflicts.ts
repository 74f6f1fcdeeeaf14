/** Rows that conflict: the record in their way can have lost its row, or its value, by now. */
import { uniqueKeys } from './adopted-table.ts'
import { noteKeys } from './drain.ts'
import { countOf } from './engine.ts'
import { type HostRow, rowsOf } from './host-rows.ts'
import type { Adopting } from './job.ts'
import type { Slice } from './slices.ts'
import { keyNames, listOf, sameKey, toJson } from './sql-text.ts'
import { toVault } from './values.ts'

/**
 * Notes the refused rows again that conflicted with others, and before them the records in their way whose rows are gone: REPLACE of SQLite leaves
 * no note of the row that it removes. Returns how many conflict; 0 if there are no fewer than `before`, and trying them again would not help.
 */
export async function retryConflicts(
  adopting: Adopting,
  slice: Pick<Slice, 'connection' | 'session'>,
  before: number,
): Promise<number> {
  const { table, maxRows } = adopting
  const { connection } = slice
  const from = `${table.refused} where code = 'conflict'`
  const count = await countOf(connection, from)
  if (count === 0) return 0
  const keys = (await connection.all(`select ${keyNames(table)} from ${from} limit ${maxRows}`)).map(toJson)
  const gone = await recordsInTheWay(adopting, slice, await rowsOf(adopting, connection, keys))
  if (gone.length === 0 && count >= before) return 0
  await noteKeys(adopting, connection, 'd', gone)
  await noteKeys(adopting, connection, 'r', keys)
  return count
}

/** Returns the keys of the side table whose records have a value of these rows in a unique key, and whose own rows are gone. */
async function recordsInTheWay(
  { engine, table, maxRows }: Adopting,
  { connection, session }: Pick<Slice, 'connection' | 'session'>,
  rows: readonly HostRow[],
): Promise<string[]> {
  const ids = new Set<string>()
  // Of columns that are unique together one finds them, and more: any record whose row is gone has to go.
  const looked = new Set(uniqueKeys(table).map((key) => key.findLast(({ isLookedUp }) => isLookedUp)))
  for (const [position, column] of table.columns.entries()) {
    const values = rows.flatMap(({ cells }) => cells[position] ?? []).map((cell) => toVault(column, cell))
    if (!looked.has(column) || values.length === 0) continue
    const options = {
      where: { [column.vault]: values },
      redaction: 'REDACTED',
      limit: maxRows,
      fields: [column.vault],
    } as const
    const { records } = await session.perform('get', { table: table.vaultTable, options })
    for (const { id } of records) ids.add(id)
  }
  const [first] = table.key
  if (ids.size === 0 || first === undefined) return []
  const found = await connection.all(
    `select ${keyNames(table, 'm')} from ${engine.list([{ name: 'record_id', type: 'text' }])} l ${engine.join} ${table.map} m on m.record_id = l.record_id
     left join ${table.quoted} h on ${sameKey(table, 'h', 'm')} where h.${first.quoted} is null`,
    [listOf([...ids].map((id) => toJson([id])))],
  )
  return found.map(toJson)
}
