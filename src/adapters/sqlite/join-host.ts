/** Joins a transaction the application opened itself, on a connection of one of the drivers or through Kysely. */
import { realpathSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import type { Database } from 'better-sqlite3'
import { CompiledQuery, type Transaction } from 'kysely'
import { VaultError } from '../../core/errors.ts'
import type { AnyTables } from '../sql/sql-dialect.ts'
import { toIntegerCell } from '../sql/stored-cells.ts'
import {
  type Connection,
  createDriverConnection,
  type DriverConnection,
  type Step,
  type StepOutcome,
  type Steps,
  type TableWork,
} from './connection.ts'
import { betterSqliteDatabase, type DriverDatabase, type DriverName, nodeDatabase, type RawRow } from './drivers.ts'
import { mapSqliteError } from './sqlite-errors.ts'

/** Prepared statements are kept for as long as the application keeps its connection. */
const connections = new WeakMap<object, DriverConnection>()

/** The connection of a host transaction on the file of a storage. Throws `invalid_request` for one of another file or driver. */
export function joinHost(host: unknown, storage: OpenFile): Connection {
  if (isBetterSqlite(host)) {
    const isInTransaction = host.open && host.inTransaction
    const path = host.memory ? undefined : host.name
    assertJoinable({ driver: 'better-sqlite3', what: 'better-sqlite3 Database', isInTransaction, path }, storage)
    return kept(host, () => betterSqliteDatabase(host))
  }
  if (isNodeSqlite(host)) {
    const isInTransaction = host.isOpen && host.isTransaction
    const path = isInTransaction ? (host.location() ?? undefined) : undefined
    assertJoinable({ driver: 'node:sqlite', what: 'DatabaseSync', isInTransaction, path }, storage)
    return kept(host, () => nodeDatabase(host, storage.filename))
  }
  if (isKyselyTransaction(host)) return createKyselyConnection(host)
  throw new VaultError(
    'invalid_request',
    'The SQLite storage joins a better-sqlite3 Database or a DatabaseSync of node:sqlite that is inside a transaction, or a Kysely Transaction on one.',
  )
}

/** The file of a storage, and the driver that it uses. */
export interface OpenFile {
  readonly filename: string
  readonly driver: DriverName
}

/** A connection of the application. */
interface HostConnection {
  readonly driver: DriverName
  readonly what: string
  readonly isInTransaction: boolean
  /** The path of its file; undefined if its database is in memory. */
  readonly path: string | undefined
}

function assertJoinable({ driver, what, isInTransaction, path }: HostConnection, storage: OpenFile): void {
  if (!isInTransaction) {
    throw new VaultError('invalid_request', `The ${what} to join is not inside a transaction. Begin one first.`)
  }
  if (path === undefined || realpathSync(path) !== storage.filename) {
    throw new VaultError('invalid_request', `The ${what} to join is open on another file than this storage.`)
  }
  // Two of them in one process do not see the locks of each other.
  if (driver !== storage.driver) {
    throw new VaultError(
      'invalid_request',
      `The ${what} to join is not of the driver of this storage. Open the storage with driver: '${driver}'.`,
    )
  }
}

function kept(host: object, open: () => DriverDatabase): DriverConnection {
  const connection = connections.get(host) ?? createDriverConnection(open(), 'joined')
  connections.set(host, connection)
  return connection
}

/** Recognized by shape, not by class: the application may have its own copy of the driver. */
function isBetterSqlite(host: unknown): host is Database {
  return has(host, ['prepare', 'pragma', 'inTransaction', 'memory', 'open'])
}

function isNodeSqlite(host: unknown): host is DatabaseSync {
  return has(host, ['prepare', 'exec', 'location', 'isTransaction', 'isOpen'])
}

function isKyselyTransaction(host: unknown): host is Transaction<AnyTables> {
  return has(host, ['executeQuery', 'withoutPlugins', 'isTransaction']) && host.isTransaction === true
}

function has<K extends string>(value: unknown, members: readonly K[]): value is Readonly<Record<K, unknown>> {
  return typeof value === 'object' && value !== null && members.every((member) => member in value)
}

/** Runs steps inside a Kysely transaction, one awaited after the other. */
function createKyselyConnection(transaction: Transaction<AnyTables>): Connection {
  // Bypasses plugins, which rename and rewrite: these statements and rows are not the application's.
  const plain = transaction.withoutPlugins()

  async function perform(step: Step): Promise<StepOutcome> {
    const query = CompiledQuery.raw(step.statement.text, [...step.parameters])
    const { rows, numAffectedRows } = await plain.executeQuery(query)
    const raw = rows.map((row) => toRawRow(row, step.columns))
    return { rows: step.kind === 'column' ? [raw.map(([cell]) => cell)] : raw, changed: Number(numAffectedRows ?? 0n) }
  }

  return {
    isPipelined: false,
    isOpen: () => true,
    assertOpen() {},
    run: (work) => runAwaited(work, perform),
  }
}

function toRawRow(row: unknown, columns: readonly string[]): RawRow {
  // Every Kysely driver returns rows as plain objects keyed by column.
  const cells = row as Readonly<Record<string, unknown>>
  return columns.map((column) => {
    const cell = cells[column]
    return typeof cell === 'bigint' ? toIntegerCell(cell) : cell
  })
}

async function runAwaited<T>(work: TableWork<T>, perform: (step: Step) => Promise<StepOutcome>): Promise<T> {
  const steps: Steps<T> = work.begin()
  let at = steps.next()
  while (at.done !== true) {
    let outcome: StepOutcome
    try {
      outcome = await perform(at.value)
    } catch (error) {
      at = steps.throw(mapSqliteError(error, work.shape))
      continue
    }
    at = steps.next(outcome)
  }
  return at.value
}
