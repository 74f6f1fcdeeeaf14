/** Adopting in SQLite, on a connection of better-sqlite3 that the application gives away for it. */
import { setTimeout as pause } from 'node:timers/promises'
import { VaultError } from '../core/errors.ts'
import { type Connection, type Engine, statementError } from './engine.ts'
import type { Cell } from './sql-text.ts'
import { captureTriggers, dropTriggers, guardTriggers, sideTables } from './sqlite-capture.ts'
import { inspectSqlite } from './sqlite-inspect.ts'

/** The part of a `Database` of better-sqlite3 that is used. */
export interface SqliteDatabase {
  readonly inTransaction: boolean
  prepare(text: string): SqliteStatement
  exec(text: string): unknown
  pragma(text: string): unknown
}

/** The part of a statement of better-sqlite3 that is used. */
export interface SqliteStatement {
  safeIntegers(isOn: boolean): SqliteStatement
  raw(isOn: boolean): SqliteStatement
  all(...parameters: unknown[]): unknown[]
  run(...parameters: unknown[]): { readonly changes: number | bigint }
}

/** Codes after which the same may succeed. */
const BUSY = ['SQLITE_BUSY', 'SQLITE_BUSY_SNAPSHOT', 'SQLITE_LOCKED']
/** Milliseconds that a transaction waits for the lock of the file. */
const BEGIN_MS = 60_000
const MAX_PAUSE_MS = 40

export function sqliteEngine(database: SqliteDatabase): Engine {
  const connection = connectionOn(database)
  let last: Promise<unknown> = Promise.resolve()
  /** There is one connection: transactions of one process wait for each other. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work, work)
    last = mine.catch(() => {})
    return mine
  }
  return {
    kind: 'sqlite',
    pace: { sliceMs: 6, rest: 3 },
    join: 'cross join',
    now: 'unixepoch()',
    forUpdate: '',
    transaction: (work) => inTurn(() => transact(database, connection, work)),
    joined: (host) => connectionOn(host as SqliteDatabase), // `vault.withTransaction` has refused anything else.
    inspect: inspectSqlite,
    cell: (position) => `json_extract(?, '$[${position}]')`,
    list(columns) {
      const cells = columns.map(({ name }, position) => `json_extract(value, '$[${position}]') as ${name}`)
      return `(select ${cells.join(', ')} from json_each(?))`
    },
    read: ({ quoted }) => `h.${quoted}`,
    differs: ({ quoted }) => `h.${quoted} collate binary is not l.${quoted}`,
    tables: sideTables,
    capture: captureTriggers,
    guard: guardTriggers,
    dropTriggers,
    async setOwn(within, table, isOn) {
      await within.run(`update ${table.jobs} set own = ? where name = ?`, [isOn ? 1 : 0, table.name])
    },
    async lock() {}, // A transaction that writes is alone already.
    async share() {},
    clean: (_, isThorough) => inTurn(() => clean(connection, isThorough)),
  }
}

function connectionOn(database: SqliteDatabase): Connection {
  const statements = new Map<string, SqliteStatement>()
  const prepared = (text: string): SqliteStatement => {
    const found = statements.get(text)
    if (found !== undefined) return found
    const made = database.prepare(text).safeIntegers(true)
    statements.set(text, made)
    return made
  }
  const mapped = async <T>(work: () => T): Promise<T> => {
    try {
      return work()
    } catch (error) {
      throw statementError(error, BUSY)
    }
  }
  return {
    host: database,
    all: (text, parameters = []) => mapped(() => prepared(text).raw(true).all(parameters) as (readonly Cell[])[]), // What raw statements of the driver return.
    run: (text, parameters = []) => mapped(() => Number(prepared(text).run(parameters).changes)),
    script: (text) => mapped(() => void database.exec(text)),
  }
}

/** Waits for the lock without blocking the event loop: SQLite itself would. */
async function begin(database: SqliteDatabase): Promise<void> {
  const end = performance.now() + BEGIN_MS
  for (let tries = 1; ; tries++) {
    try {
      return void database.exec('begin immediate')
    } catch (error) {
      const mapped = statementError(error, BUSY, 'The file could not be locked')
      if (mapped.code !== 'aborted' || performance.now() > end) throw mapped
      await pause(Math.random() * Math.min(MAX_PAUSE_MS, tries * 2))
    }
  }
}

async function transact<T>(
  database: SqliteDatabase,
  connection: Connection,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  if (database.inTransaction)
    throw new VaultError('failed_precondition', 'The connection to adopt with is inside a transaction. Give it one of its own.')
  await begin(database)
  try {
    const result = await work(connection)
    await connection.script('commit')
    return result
  } catch (error) {
    if (database.inTransaction) database.exec('rollback')
    throw error
  }
}

async function clean(connection: Connection, isThorough: boolean): Promise<string[]> {
  const left = ['backups and copies of the file', 'full-text tables and logs that the application wrote']
  if (!isThorough) return ['free pages of the file: clean it (VACUUM needs as much space as the file has)', ...left]
  try {
    await connection.script('pragma secure_delete = on; vacuum')
  } catch {
    left.unshift('free pages of the file: VACUUM was not possible; run it when no one else uses the file')
  }
  const [[isBusy] = [1n]] = await connection.all('pragma wal_checkpoint(truncate)')
  if (isBusy !== 0n) left.unshift('the write-ahead log: others still read from it; it is cleared when they close the file')
  return left
}
