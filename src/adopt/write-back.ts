/** Writes of adopting itself into the host's table: plaintext removed, tokens in its place, or values of the vault written back. */
import { VaultError } from '../core/errors.ts'
import type { MappedColumn } from './adopted-table.ts'
import { type Cell, keyList, listOf, sameKey, toJson } from './engine.ts'
import { type Mapped, mapBehind } from './host-rows.ts'
import { type Adopting, type AdoptState, advance, enterState } from './job.ts'
import type { Slice } from './slices.ts'
import { differentRows, recordValues, valueList } from './verify.ts'

/** A walk over all rows that have a record. Returns false at its end, where the state is `next`. */
async function walk(
  adopting: Adopting,
  { connection, job, size }: Slice,
  next: AdoptState,
  work: (mapped: readonly Mapped[]) => Promise<void>,
): Promise<boolean> {
  const mapped = await mapBehind(adopting, connection, job.pos, size)
  const last = mapped.at(-1)
  if (last === undefined) {
    // The helper of the application writes by the state: it does not change while one writes.
    await adopting.engine.lock(connection, adopting.table)
    await enterState(adopting, connection, next)
    return false
  }
  await adopting.engine.setOwn(connection, adopting.table, true)
  await work(mapped)
  await adopting.engine.setOwn(connection, adopting.table, false)
  await advance(adopting, connection, last.key, mapped.length)
  return true
}

/** Removes the plaintext of the next rows, or writes tokens in its place. */
export async function finish(adopting: Adopting, slice: Slice): Promise<boolean> {
  const { connection, session, job } = slice
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
    const { records } = await session.perform('get', {
      table: table.vaultTable,
      options: {
        ids: mapped.map(({ recordId }) => recordId),
        tokenization: true,
        fields: table.columns.map(({ vault }) => vault),
      },
    })
    const rows = mapped.map(({ key }, index) => {
      const tokens: Readonly<Record<string, unknown>> = records[index]?.fields ?? {}
      return withCells(
        key,
        table.columns.map(({ vault }) => tokenCell(tokens[vault])),
      )
    })
    await writeRows(adopting, { connection }, table.columns, rows)
  })
}

function tokenCell(token: unknown): Cell {
  return typeof token === 'string' ? token : null
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
        `select 1 from ${engine.list(keyList(table))} l join ${table.quoted} h on ${sameKey(table, 'h', 'l')} for no key update of h`,
        [listOf(mapped.map(({ key }) => key))],
      )
    await writeRows(adopting, slice, table.columns, await recordValues(slice.session, table, mapped))
  })
}

/** Writes rows of a list, each a key and the cells of these columns. */
export async function writeRows(
  { engine, table }: Adopting,
  { connection }: Pick<Slice, 'connection'>,
  columns: readonly MappedColumn[],
  rows: readonly string[],
): Promise<void> {
  if (rows.length === 0 || columns.length === 0) return
  await connection.run(
    `update ${table.quoted} as h set ${columns.map(({ quoted }) => `${quoted} = l.${quoted}`).join(', ')}
     from ${engine.list([...keyList(table), ...valueList(columns)])} l where ${sameKey(table, 'h', 'l')}`,
    [listOf(rows)],
  )
}

/** Returns a key and cells as a row of a list. */
export function withCells(key: string, cells: readonly Cell[]): string {
  return cells.length === 0 ? key : `${key.slice(0, -1)},${toJson(cells).slice(1)}`
}

/** Deletes the records of the next rows; at the end, what adopting has stored. */
export async function undo(adopting: Adopting, { connection, session, job, size }: Slice): Promise<boolean> {
  if (job.state !== 'undoing') return false
  const { engine, table } = adopting
  // The host's rows are the truth again, and nothing needs to be noted of them.
  if (job.pos === null) await connection.script(engine.dropTriggers(table))
  const mapped = await mapBehind(adopting, connection, job.pos, size)
  const last = mapped.at(-1)
  if (last !== undefined) {
    await session.perform('delete', { table: table.vaultTable, ids: mapped.map(({ recordId }) => recordId) })
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
export async function dropColumns(adopting: Adopting, { connection, job }: Pick<Slice, 'connection' | 'job'>): Promise<void> {
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
  await connection.script(engine.dropTriggers(table))
  for (const { quoted } of table.columns) await connection.script(`alter table ${table.quoted} drop column ${quoted}`)
  await connection.script(`drop table ${table.notes}; drop table ${table.refused}`)
  await endJob(adopting, connection)
}
