/** Capture and backfill: triggers note what changes from now on, and the rows that exist become records, slice by slice. */
import { VaultError } from '../core/errors.ts'
import { storeIn } from './drain.ts'
import { countOf } from './engine.ts'
import { rowsBehind } from './host-rows.ts'
import { type Adopting, advance, enterState } from './job.ts'
import type { Slice } from './slices.ts'

/** Creates the triggers and the job in one transaction: from its commit on no change is missed. */
export async function capture(adopting: Adopting, { connection, job }: Pick<Slice, 'connection' | 'job'>): Promise<void> {
  if (job.state !== 'new') return
  const { engine, table } = adopting
  await connection.script(engine.tables(table))
  await connection.run(`insert into ${table.jobs} (name, state, total, columns) values (?, 'backfill', ?, ?)`, [
    table.name,
    await countOf(connection, table.quoted),
    columnsText(adopting),
  ])
  await connection.script(engine.capture(table))
}

/** Throws `invalid_request` if the job was begun with other columns: rows would be stored in two ways. */
export async function assertSameColumns(
  adopting: Adopting,
  { connection, job }: Pick<Slice, 'connection' | 'job'>,
): Promise<void> {
  if (job.state === 'new') return
  const [row] = await connection.all(`select columns from ${adopting.table.jobs} where name = ?`, [adopting.table.name])
  if (row?.[0] === columnsText(adopting)) return
  throw new VaultError(
    'invalid_request',
    `${adopting.table.name} is being adopted with other columns. Name the same ones, or go back first.`,
  )
}

function columnsText({ table }: Adopting): string {
  return JSON.stringify([table.vaultTable, table.columns.map(({ name, vault }) => [name, vault])])
}

/** Stores the next rows without a record. Returns false at the end of the table. */
export async function backfill(adopting: Adopting, { connection, session, job, size }: Slice): Promise<boolean> {
  if (job.state !== 'backfill') return false
  const rows = await rowsBehind(adopting, connection, job.pos, size)
  const last = rows.at(-1)
  if (last === undefined) {
    await enterState(adopting, connection, 'verify')
    return false
  }
  const fresh = rows.filter(({ recordId }) => recordId === null)
  await storeIn(adopting, connection, session, fresh)
  await advance(adopting, connection, last.key, rows.length)
  return true
}
