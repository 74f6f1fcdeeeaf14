/** The rows of a whole vault, as a snapshot has them: which tables are the vault's, page by page, and without what says that their storage is closed. */
import { DEPARTED } from '../core/catalog/vault-moves.ts'
import { VaultError } from '../core/errors.ts'
import { bytesOfRows, eachPage, type PageSize } from '../core/pace/pace.ts'
import type { Filter, Row, Snapshot, StoredTable } from '../core/ports/storage.ts'
import {
  AUDIT_CHAINS,
  CATALOG,
  CLOSED_CHAIN,
  ENDED_LEASE,
  MAINTENANCE,
  MARKER,
  OPENINGS,
  SYSTEM_TABLES,
} from '../core/schema/system-tables.ts'
import { present } from '../core/util/lists.ts'

export const EVERY: Filter = { kind: 'all' }

const SYSTEM_NAMES: ReadonlySet<string> = new Set([CATALOG, ...SYSTEM_TABLES].map(({ name }) => name))
/** Tables of records: their number, and the first letters of their name. */
const RECORDS = /^records_[0-9]+_/

/** Bytes of a page that are aimed at, and its rows at most. Two pages are in memory at once. */
const PAGE_BYTES = 1024 * 1024
const MAX_ROWS = 4000
/** Rows of the first page, which can be of any length. */
const FIRST_ROWS = 32
/** Bytes that a row is taken for besides its texts and bytes. */
const ROW_BYTES = 64

/** Returns the tables of the vault among those of a database. */
export function vaultTables({ tables }: Pick<Snapshot, 'tables'>): readonly StoredTable[] {
  return tables.filter(({ name }) => SYSTEM_NAMES.has(name) || RECORDS.test(name))
}

/** True for the tables without which nothing opens: a copy stores them last. */
export function opensVault(table: string): boolean {
  return table === CATALOG.name || table === MARKER.name
}

/** Returns the tables of the one vault of a snapshot that a copy has: not that of the processes that have it open here. Throws `failed_precondition` if there is none. */
export async function tablesOfVault(snapshot: Snapshot): Promise<readonly StoredTable[]> {
  const tables = vaultTables(snapshot)
  const hasVault = [CATALOG, MARKER].every(({ name }) => tables.some((table) => table.name === name))
  const filter: Filter = { kind: 'compare', column: 'entry', operator: '=', value: 'schema' }
  if (!hasVault || (await snapshot.find(CATALOG.name, filter, { order: 'asc', limit: 1, columns: [] })).length === 0)
    throw new VaultError('failed_precondition', 'There is no vault in the storage to copy from. Check where it is.')
  return tables.filter(({ name }) => name !== OPENINGS.name)
}

/** Counts the rows of tables. */
export async function countRows(snapshot: Pick<Snapshot, 'aggregate'>, tables: readonly StoredTable[]): Promise<number> {
  let count = 0
  for (const { name } of tables) count += Number((await snapshot.aggregate(name, EVERY, [{ kind: 'count' }]))[0])
  return count
}

/** Yields all rows of a table by rising ids, in pages of about 1 MiB. */
export async function* pagesOf(snapshot: Pick<Snapshot, 'find'>, table: string): AsyncGenerator<readonly Row[]> {
  let limit = FIRST_ROWS
  const size: PageSize = {
    next: () => limit,
    read(rows) {
      const rowBytes = ROW_BYTES + bytesOfRows(rows) / rows.length
      limit = Math.max(1, Math.min(MAX_ROWS, Math.floor(PAGE_BYTES / rowBytes)))
    },
  }
  for await (const rows of eachPage(snapshot, table, { size })) yield copiedRows(table, rows)
}

/** Yields the ids and versions of a table by rising ids, in pages. */
export function versionsOf(storage: Pick<Snapshot, 'find'>, table: string): AsyncGenerator<readonly Row[]> {
  return eachPage(storage, table, { size: MAX_ROWS, columns: [] })
}

/** Returns those of the rows of these ids that exist. */
export async function rowsById(snapshot: Pick<Snapshot, 'get'>, table: string, ids: readonly number[]): Promise<readonly Row[]> {
  return copiedRows(table, present(await snapshot.get(table, ids)))
}

/** Returns rows as a copy has them: those of a storage that was closed say so, and those of a copy do not. What a process here had leased is free in it. */
function copiedRows(table: string, rows: readonly Row[]): readonly Row[] {
  if (table === CATALOG.name) return rows.filter(({ entry }) => entry !== DEPARTED)
  if (table === MAINTENANCE.name)
    return rows.map((row) => ({ ...row, lease_until: Math.min(Number(row.lease_until), ENDED_LEASE) }))
  if (table !== AUDIT_CHAINS.name) return rows
  // No process holds a chain of a closed storage any more.
  return rows.map((row) => (row.released === CLOSED_CHAIN ? { ...row, released: row.version } : row))
}
