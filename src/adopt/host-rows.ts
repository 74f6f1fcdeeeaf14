/** Rows of the host's table with their records, read by a walk over the key or by keys. */
import type { Connection } from './engine.ts'
import { type Adopting, behind } from './job.ts'
import { type Cell, keyNames, listColumns, listOf, sameKey, toJson, withCells } from './sql-text.ts'

export interface HostRow {
  /** The key as JSON. */
  readonly key: string
  readonly recordId: string | null
  /** The cells of the adopted columns, in order. */
  readonly cells: readonly Cell[]
}

/** Returns the next rows of a walk, at most `limit`. */
export async function rowsBehind(
  adopting: Adopting,
  connection: Connection,
  pos: string | null,
  limit: number,
): Promise<HostRow[]> {
  const { table } = adopting
  const { text, parameters } = behind(adopting, 'h', pos)
  const rows = await connection.all(
    `select ${selected(adopting)} from ${table.quoted} h left join ${table.map} m on ${sameKey(table, 'm', 'h')}
     where ${text} order by ${keyNames(table, 'h')} limit ${limit}`,
    parameters,
  )
  return rows.map((row) => toRow(adopting, row))
}

/** Returns the rows that have one of these keys. */
export async function rowsOf(adopting: Adopting, connection: Connection, keys: readonly string[]): Promise<HostRow[]> {
  if (keys.length === 0) return []
  const { table, engine } = adopting
  const rows = await connection.all(
    `select ${selected(adopting)} from ${engine.list(listColumns(table.key))} k ${engine.join} ${table.quoted} h on ${sameKey(table, 'h', 'k')}
     left join ${table.map} m on ${sameKey(table, 'm', 'h')}`,
    [listOf(keys)],
  )
  return rows.map((row) => toRow(adopting, row))
}

function selected({ engine, table }: Adopting): string {
  return [keyNames(table, 'h'), 'm.record_id', ...table.columns.map((column) => engine.read(column))].join(', ')
}

function toRow({ table }: Adopting, row: readonly Cell[]): HostRow {
  const [recordId = null, ...cells] = row.slice(table.key.length)
  return { key: toJson(row.slice(0, table.key.length)), recordId: recordId === null ? null : String(recordId), cells }
}

/** Returns the keys and record ids of the side table behind a place of a walk. */
export async function mapBehind(
  adopting: Adopting,
  connection: Connection,
  pos: string | null,
  limit: number,
): Promise<Mapped[]> {
  const { table } = adopting
  const { text, parameters } = behind(adopting, 'm', pos)
  const from = `${table.map} m where ${text} order by ${keyNames(table, 'm')} limit ${limit}`
  return mappedFrom(adopting, connection, from, parameters)
}

/** A key, and the record of its row. */
export interface Mapped {
  readonly key: string
  readonly recordId: string
}

/** Returns what the side table has for keys. */
export async function mapOf(adopting: Adopting, connection: Connection, keys: readonly string[]): Promise<Map<string, string>> {
  if (keys.length === 0) return new Map()
  const { table, engine } = adopting
  const from = `${engine.list(listColumns(table.key))} k ${engine.join} ${table.map} m on ${sameKey(table, 'm', 'k')}`
  const mapped = await mappedFrom(adopting, connection, from, [listOf(keys)])
  return new Map(mapped.map(({ key, recordId }) => [key, recordId]))
}

/** Returns the keys and record ids of the side table `m` in what follows FROM. */
export async function mappedFrom(
  { table }: Adopting,
  connection: Connection,
  from: string,
  parameters: readonly string[] = [],
): Promise<Mapped[]> {
  const rows = await connection.all(`select ${keyNames(table, 'm')}, m.record_id from ${from}`, parameters)
  return rows.map((row) => ({ key: toJson(row.slice(0, table.key.length)), recordId: String(row[table.key.length]) }))
}

/** Adds keys with their records to the side table. */
export async function addToMap({ engine, table }: Adopting, connection: Connection, added: readonly Mapped[]): Promise<void> {
  if (added.length === 0) return
  const columns = [...listColumns(table.key), { name: 'record_id', type: 'text' }]
  await connection.run(
    `insert into ${table.map} (${keyNames(table)}, record_id) select ${keyNames(table, 'l')}, l.record_id from ${engine.list(columns)} l`,
    [listOf(added.map(({ key, recordId }) => withCells(key, [recordId])))],
  )
}

/** Deletes the rows of these keys from the side table, or from the list of refused rows. */
export async function deleteKeys(
  { engine, table }: Adopting,
  connection: Connection,
  from: 'map' | 'refused',
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return
  await connection.run(
    `delete from ${table[from]} where (${keyNames(table)}) in (select ${keyNames(table, 'l')} from ${engine.list(listColumns(table.key))} l)`,
    [listOf(keys)],
  )
}
