/** Verify: every row against its record, and every record against its row, each slice in one state of the database. */
import { VaultError } from '../core/errors.ts'
import { noteKeys } from './drain.ts'
import type { Connection } from './engine.ts'
import { type Mapped, rowsBehind } from './host-rows.ts'
import { type Adopting, type AdoptSession, advance, behind, enterState } from './job.ts'
import type { Slice } from './slices.ts'
import { type Cell, keyNames, listColumns, listOf, noteNames, sameKey, toJson, withCells } from './sql-text.ts'
import { withoutMissing } from './store-rows.ts'
import { toHost } from './values.ts'

/** Walks that may find a difference. What one finds is read again; what the next finds was changed around the triggers. */
const MAX_WALKS = 3

/** Compares the next rows. Those with a pending note, and refused ones, are passed over. Returns false at the end of the table. */
export async function verify(adopting: Adopting, { connection, session, job, size }: Slice): Promise<boolean> {
  if (job.state !== 'verify') return false
  const { table } = adopting
  const rows = await rowsBehind(adopting, connection, job.pos, size)
  const last = rows.at(-1)?.key
  const passed = await passedOver(
    adopting,
    connection,
    rows.map(({ key }) => key),
  )
  const compared = rows.filter(({ key }) => !passed.has(key))
  const missing = compared.flatMap(({ key, recordId }) => (recordId === null ? [key] : []))
  const mapped = compared.flatMap(({ key, recordId }) => (recordId === null ? [] : [{ key, recordId }]))
  const different = await differentRows(adopting, { connection, session }, mapped)
  await noteKeys(adopting, connection, 'r', [...missing, ...different])
  await noteKeys(adopting, connection, 'd', await recordsWithoutRow(adopting, connection, { from: job.pos, to: last }))
  const found = missing.length + different.length
  await connection.run(`update ${table.jobs} set found = found + ? where name = ?`, [found, table.name])
  if (last !== undefined) {
    await advance(adopting, connection, last, rows.length)
    return true
  }
  if (job.found + found === 0) {
    await enterState(adopting, connection, 'overlap')
    return false
  }
  if (job.passes + 1 >= MAX_WALKS)
    throw new VaultError(
      'failed_precondition',
      `${table.name}: ${job.found + found} rows differ from their records in the ${MAX_WALKS}rd walk. Something changes rows around the triggers; find it, then run again.`,
    )
  await connection.run(`update ${table.jobs} set pos = null, done = 0, passes = passes + 1, found = 0 where name = ?`, [
    table.name,
  ])
  return true
}

/** Returns the keys of those rows that have a pending note or are refused. */
async function passedOver(
  { engine, table }: Adopting,
  connection: Connection,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set()
  const own = noteNames(table, 'k')
  const listed = `select ${keyNames(table, 'l')} from ${engine.list(listColumns(table.key))} l`
  const rows = await connection.all(
    `select ${own} from ${table.notes} where (${own}) in (${listed}) union select ${keyNames(table)} from ${table.refused} where (${keyNames(table)}) in (${listed})`,
    [listOf(keys), listOf(keys)],
  )
  return new Set(rows.map(toJson))
}

/** Returns the keys of rows whose values are not those of their records, compared by the database as writing them back would leave them. */
export async function differentRows(
  { engine, table }: Adopting,
  { connection, session }: Pick<Slice, 'connection' | 'session'>,
  mapped: readonly Mapped[],
): Promise<string[]> {
  if (mapped.length === 0) return []
  const { rows: values, missing } = await recordValues(session, table, mapped)
  const rows = await connection.all(
    `select ${keyNames(table, 'h')} from ${engine.list(listColumns([...table.key, ...table.columns]))} l ${engine.join} ${table.quoted} h
     on ${sameKey(table, 'h', 'l')} where ${table.columns.map((column) => `(${engine.differs(column)})`).join(' or ')}`,
    [listOf(values)],
  )
  return [...rows.map(toJson), ...missing]
}

/** Returns the values of records behind their keys, as rows of a list, and the keys whose records do not exist any more. */
export async function recordValues(
  session: AdoptSession,
  table: Adopting['table'],
  mapped: readonly Mapped[],
): Promise<{ readonly rows: string[]; readonly missing: string[] }> {
  const fields = table.columns.map(({ vault }) => vault)
  return recordCells(mapped, {
    get: (ids) => session.perform('get', { table: table.vaultTable, options: { ids, redaction: 'PLAIN_TEXT', fields } }),
    cellsOf: (record) => table.columns.map((column) => toHost(column, record[column.vault])),
  })
}

/** Returns the tokens of records behind their keys, in the same way. */
export async function recordTokens(
  session: AdoptSession,
  table: Adopting['table'],
  mapped: readonly Mapped[],
): Promise<string[]> {
  const fields = table.columns.map(({ vault }) => vault)
  const { rows } = await recordCells(mapped, {
    get: (ids) => session.perform('get', { table: table.vaultTable, options: { ids, tokenization: true, fields } }),
    cellsOf: (record) => fields.map((name) => (typeof record[name] === 'string' ? record[name] : null)),
  })
  return rows
}

type Fields = Readonly<Record<string, unknown>>

/** How records are read, and what of each is a row. */
interface Reading {
  get(ids: readonly string[]): Promise<{ readonly records: readonly { readonly fields?: Fields }[] }>
  cellsOf(fields: Fields): readonly Cell[]
}

async function recordCells(mapped: readonly Mapped[], { get, cellsOf }: Reading): Promise<{ rows: string[]; missing: string[] }> {
  const read = await withoutMissing(mapped, (some) => get(some.map(({ recordId }) => recordId)))
  const found = read?.found ?? []
  const present = new Set(found.map(({ key }) => key))
  return {
    rows: found.map(({ key }, index) => withCells(key, cellsOf(read?.result.records[index]?.fields ?? {}))),
    missing: mapped.map(({ key }) => key).filter((key) => !present.has(key)),
  }
}

/** Returns the keys of the side table in this part of a walk whose rows are gone, and without a note that says so: REPLACE of SQLite leaves none. */
export async function recordsWithoutRow(
  adopting: Adopting,
  connection: Connection,
  { from, to }: { readonly from: string | null; readonly to: string | undefined },
): Promise<string[]> {
  const { table, maxRows } = adopting
  const after = behind(adopting, 'm', from)
  const beyond = to === undefined ? { text: '1 = 0', parameters: [] } : behind(adopting, 'm', to)
  const rows = await connection.all(
    `select ${keyNames(table, 'm')} from ${table.map} m where ${after.text} and not (${beyond.text})
     and not exists (select 1 from ${table.quoted} h where ${sameKey(table, 'h', 'm')}) limit ${maxRows}`,
    [...after.parameters, ...beyond.parameters],
  )
  const keys = rows.map(toJson)
  const passed = await passedOver(adopting, connection, keys)
  const moved = await movedAway(adopting, connection)
  return keys.filter((key) => !passed.has(key) && !moved.has(key))
}

/** Returns the keys that rows had before a change of key that is not drained yet. */
async function movedAway({ table }: Adopting, connection: Connection): Promise<ReadonlySet<string>> {
  return new Set((await connection.all(`select ${noteNames(table, 'w')} from ${table.notes} where op = 'k'`)).map(toJson))
}
