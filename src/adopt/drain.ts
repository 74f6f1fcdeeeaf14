/** Drains the notes of changed rows into the vault, each batch in one transaction with the notes it takes. */
import type { Connection } from './engine.ts'
import { addToMap, deleteKeys, type HostRow, type Mapped, mapOf, mappedFrom, rowsOf } from './host-rows.ts'
import type { Adopting, AdoptSession } from './job.ts'
import { keyNames, listColumns, listOf, noteNames, sameKey, toJson, withCells } from './sql-text.ts'
import { type Refusal, storeRows, withoutMissing } from './store-rows.ts'

/** A note: what became of the row of a key. */
interface Note {
  readonly seq: string
  /** `i`nserted, `u`pdated, `d`eleted, has another `k`ey, `t`runcated, to be `r`ead again. */
  readonly op: string
  readonly key: string
  /** The key before; only of `k`. */
  readonly was: string
}

/** Notes rows as ones to read again, or as deleted. */
export async function noteKeys(
  { engine, table }: Adopting,
  connection: Connection,
  op: 'r' | 'd',
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return
  await connection.run(
    `insert into ${table.notes} (op, ${noteNames(table, 'k')}) select '${op}', ${keyNames(table)} from ${engine.list(listColumns(table.key))} l`,
    [listOf(keys)],
  )
}

/**
 * Drains at most `limit` notes, in order, and returns how many it took. Until the switch, the rows of the host are read and stored. The notes
 * that were read are deleted, and not those up to the last: on PostgreSQL lower ones commit later.
 */
export async function drainNotes(
  adopting: Adopting,
  connection: Connection,
  { session, limit, isHostTruth }: { readonly session: AdoptSession; readonly limit: number; readonly isHostTruth: boolean },
): Promise<number> {
  const notes = await readNotes(adopting, connection, limit)
  if (notes.length === 0) return 0
  const truncated = notes.filter(({ op }) => op === 't')
  // The rest of the notes keeps its order behind a TRUNCATE, whose records are deleted first.
  const others = notes.filter(({ op }) => op !== 't')
  const isRemoved = truncated.length === 0 || (await removeMissing(adopting, connection, session)) === 0
  const taken = isRemoved ? notes : others
  await followRows(adopting, connection, session, others)
  // A walk would miss a row that has passed it: it begins again.
  if (!isHostTruth && others.some(({ op }) => op === 'k'))
    await connection.run(`update ${adopting.table.jobs} set pos = null where name = ?`, [adopting.table.name])
  if (isHostTruth) {
    const keys = [...new Set(others.flatMap(({ op, key }) => (op === 'd' || op === 'k' ? [] : [key])))]
    const rows = await rowsOf(adopting, connection, keys)
    await storeIn(adopting, connection, session, rows)
    // A row to read again that is gone: REPLACE leaves no note. Behind the notes of what else became of it.
    const present = new Set(rows.map(({ key }) => key))
    const gone = others.filter(({ op, key }) => op === 'r' && !present.has(key)).map(({ key }) => key)
    await noteKeys(adopting, connection, 'd', [...new Set(gone)])
  }
  const { engine, table } = adopting
  const list = engine.list([{ name: 'seq', type: engine.kind === 'sqlite' ? 'integer' : 'bigint' }])
  await connection.run(`delete from ${table.notes} where seq in (select seq from ${list} l)`, [
    listOf(taken.map(({ seq }) => `[${seq}]`)),
  ])
  if (others.some(({ op }) => op !== 'r')) await noteChange(adopting, connection)
  // The note of a TRUNCATE stays until its last record is deleted.
  return isRemoved ? notes.length : limit
}

async function noteChange({ engine, table }: Adopting, connection: Connection): Promise<void> {
  await connection.run(`update ${table.jobs} set quiet_since = ${engine.now} where name = ?`, [table.name])
}

async function readNotes({ table }: Adopting, connection: Connection, limit: number): Promise<Note[]> {
  const width = table.key.length
  const rows = await connection.all(
    `select seq, op, ${noteNames(table, 'k')}, ${noteNames(table, 'w')} from ${table.notes} order by seq limit ${limit}`,
  )
  return rows.map(([seq, op, ...cells]) => ({
    seq: String(seq),
    op: String(op),
    key: toJson(cells.slice(0, width)),
    was: toJson(cells.slice(width)),
  }))
}

/** Lets records follow their rows: those of deleted rows are deleted, and those of rows with another key get it in the side table. */
async function followRows(
  adopting: Adopting,
  connection: Connection,
  session: AdoptSession,
  notes: readonly Note[],
): Promise<void> {
  const moves = notes.filter(({ op }) => op === 'd' || op === 'k')
  if (moves.length === 0) return
  const before = await mapOf(adopting, connection, [
    ...new Set(moves.flatMap(({ op, key, was }) => (op === 'k' ? [key, was] : [key]))),
  ])
  const now = new Map(before)
  const gone = new Set<string>()
  for (const { op, key, was } of moves) {
    const replaced = now.get(key)
    if (replaced !== undefined) gone.add(replaced)
    now.delete(key)
    const moved = op === 'k' ? now.get(was) : undefined
    if (moved === undefined) continue
    now.delete(was)
    now.set(key, moved)
  }
  const changed = [...new Set([...before.keys(), ...now.keys()])].filter((key) => before.get(key) !== now.get(key))
  await deleteKeys(adopting, connection, 'map', changed)
  await addToMap(
    adopting,
    connection,
    changed.map((key) => ({ key, recordId: now.get(key) ?? '' })).filter(({ recordId }) => recordId !== ''),
  )
  await deleteKeys(
    adopting,
    connection,
    'refused',
    moves.map(({ op, key, was }) => (op === 'k' ? was : key)),
  )
  await deleteRecords(adopting, session, [...gone])
}

/** Deletes records, also if the application has deleted some of them itself. */
export async function deleteRecords({ table, maxRows }: Adopting, session: AdoptSession, ids: readonly string[]): Promise<void> {
  for (let start = 0; start < ids.length; start += maxRows)
    await withoutMissing(ids.slice(start, start + maxRows), (some) =>
      session.perform('delete', { table: table.vaultTable, ids: some }),
    )
}

/** Stores rows in the vault, with their places in the side table and in the list of refused rows. */
export async function storeIn(
  adopting: Adopting,
  connection: Connection,
  session: AdoptSession,
  rows: readonly HostRow[],
): Promise<void> {
  if (rows.length === 0) return
  const { added, refused, replaced } = await storeRows(session, adopting.table, rows)
  await deleteKeys(adopting, connection, 'map', replaced)
  await addToMap(adopting, connection, added)
  await deleteKeys(
    adopting,
    connection,
    'refused',
    rows.map(({ key }) => key),
  )
  await addRefused(adopting, connection, refused)
}

async function addRefused({ engine, table }: Adopting, connection: Connection, refused: readonly Refusal[]): Promise<void> {
  if (refused.length === 0) return
  const names = keyNames(table)
  const columns = [...listColumns(table.key), { name: 'column_name', type: 'text' }, { name: 'code', type: 'text' }]
  await connection.run(
    `insert into ${table.refused} (${names}, column_name, code) select ${names}, column_name, code from ${engine.list(columns)} l`,
    [listOf(refused.map(({ key, column, code }) => withCells(key, [column, code])))],
  )
}

/** Deletes the records whose rows are gone, a slice of them at most. Returns how many it deleted. */
async function removeMissing(adopting: Adopting, connection: Connection, session: AdoptSession): Promise<number> {
  const { table, maxRows } = adopting
  const isMissing = `not exists (select 1 from ${table.quoted} h where ${sameKey(table, 'h', 'm')})`
  const mapped = await mappedFrom(adopting, connection, `${table.map} m where ${isMissing} limit ${maxRows}`)
  await deleteMapped(adopting, connection, session, mapped)
  return mapped.length
}

/** Deletes keys of the side table, and their records. */
export async function deleteMapped(
  adopting: Adopting,
  connection: Connection,
  session: AdoptSession,
  mapped: readonly Mapped[],
): Promise<void> {
  const keys = mapped.map(({ key }) => key)
  await deleteKeys(adopting, connection, 'map', keys)
  const ids = mapped.map(({ recordId }) => recordId)
  await deleteRecords(adopting, session, ids)
}
