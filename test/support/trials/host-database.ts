/** The application's own table beside the vault, and transactions that change both. */
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import pg from 'pg'
import { sqliteCodeOf } from '../../../src/adapters/sqlite/sqlite-errors.ts'
import type { StorageAddress } from '../storages/open-storage.ts'

/** The application's connection to the database of a vault. */
export interface HostDatabase {
  /** Creates the application's table if it does not exist. */
  prepare(): Promise<void>
  /** Inserts a row and runs `work` in one transaction; rolls both back if `undo` is set or `work` throws. */
  transaction(row: string, undo: boolean, work: (handle: unknown) => Promise<void>): Promise<void>
  /** Every row of the application's table. */
  rows(): Promise<string[]>
  close(): Promise<void>
}

const CREATE = 'create table if not exists app_log (line text not null)'

/** Opens a connection for the application. */
export function hostDatabase(address: StorageAddress): HostDatabase {
  if (address.engine === 'postgres') return postgresHost(address.url)
  return address.driver === 'node:sqlite' ? nodeHost(address.filename) : betterSqliteHost(address.filename)
}

function betterSqliteHost(filename: string): HostDatabase {
  const database = new Database(filename, { timeout: 0 })
  return sqliteHost({
    handle: database,
    exec: (text) => void database.exec(text),
    insert: (row) => void database.prepare(INSERT).run(row),
    isInTransaction: () => database.inTransaction,
    lines: () => database.prepare<[], string>(LINES).pluck().all(),
    close: () => void database.close(),
  })
}

function nodeHost(filename: string): HostDatabase {
  const database = new DatabaseSync(filename, { timeout: 0 })
  return sqliteHost({
    handle: database,
    exec: (text) => database.exec(text),
    insert: (row) => void database.prepare(INSERT).run(row),
    isInTransaction: () => database.isTransaction,
    lines: () =>
      database
        .prepare(LINES)
        .all()
        .map(({ line }) => String(line)),
    close: () => database.close(),
  })
}

const INSERT = 'insert into app_log (line) values (?)'
const LINES = 'select line from app_log'

/** A connection of either driver. */
interface SqliteConnection {
  readonly handle: unknown
  exec(text: string): void
  insert(row: string): void
  isInTransaction(): boolean
  lines(): string[]
  close(): void
}

function sqliteHost(database: SqliteConnection): HostDatabase {
  let last: Promise<unknown> = Promise.resolve()
  async function run(row: string, undo: boolean, work: (handle: unknown) => Promise<void>): Promise<void> {
    await beginWhenFree(database)
    try {
      database.insert(row)
      await work(database.handle)
      database.exec(undo ? 'rollback' : 'commit')
    } catch (error) {
      if (database.isInTransaction()) database.exec('rollback')
      throw error
    }
  }
  return {
    prepare: async () => database.exec(CREATE),
    async transaction(row, undo, work) {
      const turn = last.then(() => run(row, undo, work))
      last = turn.catch(() => {})
      await turn
    },
    rows: async () => database.lines(),
    close: async () => database.close(),
  }
}

/** Begins when no other connection writes. The driver would hold the event loop while it waits. */
async function beginWhenFree(database: SqliteConnection): Promise<void> {
  for (;;) {
    try {
      database.exec('begin immediate')
      return
    } catch (error) {
      if (sqliteCodeOf(error) !== 'SQLITE_BUSY') throw error
      await pause(3)
    }
  }
}

function postgresHost(connectionString: string): HostDatabase {
  const pool = new pg.Pool({ connectionString, max: 4 })
  return {
    prepare: async () => void (await pool.query(CREATE)),
    async transaction(row, undo, work) {
      const client = await pool.connect()
      try {
        await client.query('begin')
        await client.query('insert into app_log (line) values ($1)', [row])
        await work(client)
        await client.query(undo ? 'rollback' : 'commit')
      } catch (error) {
        await client.query('rollback')
        throw error
      } finally {
        client.release()
      }
    },
    rows: async () => (await pool.query<{ line: string }>('select line from app_log')).rows.map(({ line }) => line),
    close: () => pool.end(),
  }
}
