/** Writes of adopting itself into the host's table: plaintext removed, tokens in its place, or values of the vault written back. */
import { VaultError } from '../core/errors.ts'
import type { MappedColumn } from './adopted-table.ts'
import { deleteRecords, drainNotes } from './drain.ts'
import { type Mapped, mapBehind } from './host-rows.ts'
import { type Adopting, type AdoptState, advance, enterState, OF_HOST, readJob } from './job.ts'
import type { Slice } from './slices.ts'
import { listColumns, listOf, sameKey, withCells } from './sql-text.ts'
import { differentRows, recordTokens, recordValues } from './verify.ts'

/** A walk over all rows that have a record. Returns false at its end, where the state is `next`. */
async function walk(
  adopting: Adopting,
  slice: Slice,
  next: AdoptState,
  work: (mapped: readonly Mapped[]) => Promise<void>,
): Promise<boolean> {
  const { connection, job, size } = slice
  const mapped = await mapBehind(adopting, connection, job.pos, size)
  const last = mapped.at(-1)
  if (last === undefined) return enterLocked(adopting, slice, next)
  await adopting.engine.setOwn(connection, adopting.table, true)
  await work(mapped)
  await adopting.engine.setOwn(connection, adopting.table, false)
  await advance(adopting, connection, last.key, mapped.length)
  return true
}

/**
 * Enters a state while no one else writes: the helper of the application writes by the state, and rows that have changed their key are followed
 * first. Returns true if that began the walk again. From `undoing` on the host's rows are the truth, and nothing of them is noted.
 */
export async function enterLocked(adopting: Adopting, { connection, session, job }: Slice, next: AdoptState): Promise<boolean> {
  const { engine, table } = adopting
  await engine.lock(connection, table)
  if (!OF_HOST.includes(job.state)) {
    await drainRest(adopting, { connection, session })
    if (job.pos !== null && (await readJob(adopting, connection)).pos === null) return true
  }
  if (next === 'undoing') await connection.script(engine.dropTriggers(table))
  await enterState(adopting, connection, next)
  return false
}

/** Drains what became of rows, under the lock of the table. */
async function drainRest(adopting: Adopting, { connection, session }: Pick<Slice, 'connection' | 'session'>): Promise<void> {
  let taken = 1
  while (taken > 0) taken = await drainNotes(adopting, connection, { session, limit: adopting.maxRows, isHostTruth: false })
}

/** Removes the plaintext of the next rows, or writes tokens in its place. */
export async function finish(adopting: Adopting, slice: Slice): Promise<boolean> {
  const { session, job } = slice
  const { table } = adopting
  if (job.state !== 'finish') return false
  return walk(adopting, slice, 'finished', async (mapped) => {
    if (job.plaintext === 'null')
      return writeRows(
        adopting,
        slice,
        table.columns,
        mapped.map(({ key }) =>
          withCells(
            key,
            table.columns.map(() => null),
          ),
        ),
      )
    await writeRows(adopting, slice, table.columns, await recordTokens(session, table, mapped))
  })
}

/**
 * The first walk back: what differs from the vault is emptied, so that no row meets a value that another has given up since. A column that
 * cannot be empty gets the id of the record, which no other row has.
 */
export async function clear(adopting: Adopting, slice: Slice): Promise<boolean> {
  const { table } = adopting
  if (slice.job.state !== 'clearing') return false
  return walk(adopting, slice, 'restoring', async (mapped) => {
    const different = new Set(await differentRows(adopting, slice, mapped))
    // Rows that were finished are empty already.
    const isFull = table.columns.map(({ quoted }) => `h.${quoted} is not null`).join(' or ')
    const columns = table.columns.filter(({ isRequired, vaultType }) => !isRequired || vaultType === 'STRING')
    const rows = mapped.filter(({ key }) => different.has(key))
    await writeRows(
      adopting,
      slice,
      columns,
      rows.map(({ key, recordId }) =>
        withCells(
          key,
          columns.map(({ isRequired }) => (isRequired ? recordId : null)),
        ),
      ),
      isFull,
    )
  })
}

/** The second walk back: values of the vault are written into the rows, which are locked before the vault is read. */
export async function restore(adopting: Adopting, slice: Slice): Promise<boolean> {
  const { engine, table } = adopting
  if (slice.job.state !== 'restoring') return false
  return walk(adopting, slice, 'undoing', async (mapped) => {
    if (engine.kind === 'postgres')
      await slice.connection.all(
        `select 1 from ${engine.list(listColumns(table.key))} l join ${table.quoted} h on ${sameKey(table, 'h', 'l')} for no key update of h`,
        [listOf(mapped.map(({ key }) => key))],
      )
    const { rows } = await recordValues(slice.session, table, mapped)
    await writeRows(adopting, slice, table.columns, rows)
  })
}

/** Writes rows of a list, each a key and the cells of these columns, into the rows `h` of a condition. */
export async function writeRows(
  { engine, table }: Adopting,
  { connection }: Pick<Slice, 'connection'>,
  columns: readonly MappedColumn[],
  rows: readonly string[],
  condition = '1 = 1',
): Promise<void> {
  if (rows.length === 0 || columns.length === 0) return
  await connection.run(
    `update ${table.quoted} as h set ${columns.map(({ quoted }) => `${quoted} = l.${quoted}`).join(', ')}
     from ${engine.list(listColumns([...table.key, ...columns]))} l where ${sameKey(table, 'h', 'l')} and (${condition})`,
    [listOf(rows)],
  )
}

/** Deletes the records of the next rows; at the end, what adopting has stored. */
export async function undo(adopting: Adopting, { connection, session, job, size }: Slice): Promise<boolean> {
  if (job.state !== 'undoing') return false
  const { table } = adopting
  const mapped = await mapBehind(adopting, connection, job.pos, size)
  const last = mapped.at(-1)
  if (last !== undefined) {
    const ids = mapped.map(({ recordId }) => recordId)
    await deleteRecords(adopting, session, ids)
    await advance(adopting, connection, last.key, mapped.length)
    return true
  }
  await connection.script(`drop table ${table.notes}; drop table ${table.map}; drop table ${table.refused}`)
  await endJob(adopting, connection)
  return false
}

/** Deletes the row of the job, and the table of jobs behind the last one. */
async function endJob({ table }: Adopting, connection: Slice['connection']): Promise<void> {
  await connection.run(`delete from ${table.jobs} where name = ?`, [table.name])
  if ((await connection.all(`select 1 from ${table.jobs} limit 1`)).length === 0)
    await connection.script(`drop table ${table.jobs}`)
}

/** Drops the columns, and all but the side table, which says which record a row has. From here on there is no way back. */
export async function dropColumns(adopting: Adopting, { connection, session, job }: Slice): Promise<void> {
  const { engine, table } = adopting
  if (job.state !== 'finished')
    throw new VaultError('failed_precondition', `${table.name} is in the state ${job.state}: finish it first.`)
  const users = table.dependants.filter(({ column }) => table.columns.some(({ name }) => name === column))
  if (users.length > 0)
    throw new VaultError(
      'failed_precondition',
      `Columns of ${table.name} are used and cannot be dropped: ${users.map(({ column, object }) => `${column} by ${object}`).join(', ')}. Drop these first.`,
    )
  await engine.lock(connection, table)
  await drainRest(adopting, { connection, session })
  await connection.script(engine.dropTriggers(table))
  for (const { quoted } of table.columns) await connection.script(`alter table ${table.quoted} drop column ${quoted}`)
  await connection.script(`drop table ${table.notes}; drop table ${table.refused}`)
  await endJob(adopting, connection)
}
