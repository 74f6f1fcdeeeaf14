/** The helper of the new version of the application: it writes rows of an adopted table in every state, in a transaction of the application. */
import { VaultError } from '../core/errors.ts'
import { isList } from '../core/util/lists.ts'
import { deleteRecords, noteKeys } from './drain.ts'
import type { Connection } from './engine.ts'
import { addToMap, deleteKeys, mapOf } from './host-rows.ts'
import { type Adopting, type AdoptSession, type AdoptState, OF_HOST, readJob, WITHOUT_RECORDS } from './job.ts'
import { type Cell, toJson, withCells } from './sql-text.ts'
import { toHost } from './values.ts'
import { writeRows } from './write-back.ts'

/** A key as the application writes it: a value, or a list of those of its columns. */
export type RowKey = string | number | bigint | readonly (string | number | bigint)[]

/** Rows of an adopted table, in one transaction. All of it commits or rolls back with the application's own statements. */
export interface AdoptedRows {
  /** True while rows have their plaintext too, so that old instances can read it: before the switch, and on the way back. */
  readonly writesPlaintext: boolean
  /** Runs statements of the application on the table that are neither noted nor refused: of a row whose values `put` writes. */
  own<T>(work: () => T | Promise<T>): Promise<T>
  /**
   * Stores values of rows, which exist, by the names of the vault's columns: in the vault, and in the row while it has plaintext. Returns the ids
   * of the records, in order. Throws as `insert` and `update` do.
   */
  put(rows: readonly { readonly key: RowKey; readonly fields: Readonly<Record<string, unknown>> }[]): Promise<string[]>
  /** Returns the ids of the records of rows, in order; undefined for a row without one. */
  ids(keys: readonly RowKey[]): Promise<(string | undefined)[]>
  /** Deletes the records of rows, which the application deletes itself by `own`. */
  remove(keys: readonly RowKey[]): Promise<void>
}

/** Returns the rows of a table in a transaction that the application has begun. The state does not change before it ends. */
export async function adoptedRows(adopting: Adopting, hostTransaction: unknown): Promise<AdoptedRows> {
  const { engine, table } = adopting
  const session = adopting.vault.withTransaction(hostTransaction).as(adopting.caller)
  const connection = engine.joined(hostTransaction)
  await engine.share(connection, table)
  const { state } = await readJob(adopting, connection, false)
  const within: Within = { ...adopting, connection, session, state }
  const writesPlaintext = state === 'restoring' || WITHOUT_RECORDS.includes(state) || OF_HOST.includes(state)
  const jsonOf = (keys: readonly RowKey[]) => keys.map((key) => keyOf(adopting, key))
  const own = async <T>(work: () => T | Promise<T>): Promise<T> => {
    if (WITHOUT_RECORDS.includes(state)) return work()
    await engine.setOwn(connection, table, true)
    try {
      return await work()
    } finally {
      // In PostgreSQL a statement that failed has ended the transaction, and the setting with it.
      await engine.setOwn(connection, table, false).catch(() => {})
    }
  }
  return {
    writesPlaintext,
    own,
    async put(rows) {
      const keyed = rows.map(({ key, fields }) => ({ key: keyOf(adopting, key), fields }))
      if (writesPlaintext) await own(() => writePlaintext(adopting, connection, keyed))
      return WITHOUT_RECORDS.includes(state) ? keyed.map(() => '') : writeRecords(within, keyed)
    },
    async ids(keys) {
      const texts = jsonOf(keys)
      const found = state === 'new' ? new Map<string, string>() : await mapOf(adopting, connection, texts)
      return texts.map((key) => found.get(key))
    },
    async remove(keys) {
      if (WITHOUT_RECORDS.includes(state)) return
      const texts = jsonOf(keys)
      const found = await mapOf(adopting, connection, texts)
      await deleteKeys(adopting, connection, 'map', texts)
      await deleteRecords(adopting, session, [...found.values()])
    },
  }
}

interface Within extends Adopting {
  readonly connection: Connection
  readonly session: AdoptSession
  readonly state: AdoptState
}

interface KeyedFields {
  readonly key: string
  readonly fields: Readonly<Record<string, unknown>>
}

async function writeRecords(within: Within, rows: readonly KeyedFields[]): Promise<string[]> {
  const { connection, session, table, state } = within
  const keys = rows.map(({ key }) => key)
  const found = await mapOf(within, connection, keys)
  const known = rows.map(({ key, fields }) => ({ id: found.get(key) ?? '', fields })).filter(({ id }) => id !== '')
  const fresh = rows.filter(({ key }) => !found.has(key))
  if (known.length > 0) await session.perform('update', { table: table.vaultTable, records: known })
  if (fresh.length > 0) {
    const { records } = await session.perform('insert', {
      table: table.vaultTable,
      records: fresh.map(({ fields }) => ({ fields })),
    })
    const added = fresh.map(({ key }, index) => ({ key, recordId: records[index]?.id ?? '' }))
    await addToMap(within, connection, added)
    for (const { key, recordId } of added) found.set(key, recordId)
  }
  // A drain that has read the row before can still write what it has read: it reads the row again.
  if (OF_HOST.includes(state)) await noteKeys(within, connection, 'r', keys)
  return keys.map((key) => found.get(key) ?? '')
}

async function writePlaintext(adopting: Adopting, connection: Connection, rows: readonly KeyedFields[]): Promise<void> {
  for (const { key, fields } of rows) {
    const columns = adopting.table.columns.filter(({ vault }) => fields[vault] !== undefined)
    await writeRows(adopting, { connection }, columns, [
      withCells(
        key,
        columns.map((column) => toHost(column, fields[column.vault])),
      ),
    ])
  }
}

/** Returns a key as this library reads it from the database. */
function keyOf({ engine, table }: Adopting, key: RowKey): string {
  const cells = isList(key) ? key : [key]
  if (cells.length !== table.key.length)
    throw new VaultError(
      'invalid_request',
      `A key of ${table.name} has ${table.key.length} values, in the order of the primary key.`,
    )
  return toJson(cells.map((cell) => cellOf(engine.kind, cell)))
}

function cellOf(kind: 'sqlite' | 'postgres', cell: string | number | bigint): Cell {
  if (kind === 'postgres') return String(cell)
  return typeof cell === 'number' && Number.isSafeInteger(cell) ? BigInt(cell) : cell
}
