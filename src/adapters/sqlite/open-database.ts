/** Opens the two connections of one SQLite file and sets how durably they write. */
import { realpathSync } from 'node:fs'
import { isVaultError, VaultError } from '../../core/errors.ts'
import { loadBetterSqlite } from './better-sqlite-driver.ts'
import { createFileGuard, type FileGuard } from './file-guard.ts'
import { loadNodeSqlite } from './node-sqlite-driver.ts'
import { assertSoleDriver, noteOpenFile } from './open-files.ts'
import { assertWritableFile, placeError } from './opening-errors.ts'
import { sqliteCodeOf } from './sqlite-codes.ts'
import type { DriverDatabase, DriverName, OpenConnection } from './sqlite-driver.ts'
import { isBusyError, mapSqliteError } from './sqlite-errors.ts'

/** `full`: every commit reaches the disk before it is acknowledged. `normal`: a power failure may lose the last ones. */
export type Synchronous = 'full' | 'normal'

/** How SQLite numbers them. */
const LEVELS: Readonly<Record<Synchronous, number>> = { full: 2, normal: 1 }

/** While opening, another process may be switching the file to WAL or recovering it; nothing else runs yet. */
const OPENING_TIMEOUT_MS = 2000
/** SQLite sleeps inside the call and blocks the event loop, so it waits this short; the write queue waits longer. */
const BUSY_TIMEOUT_MS = 4
/** Random index keys touch many pages: rare checkpoints and a large cache combine their writes. */
const CHECKPOINT_PAGES = 16_000
const CACHE_KIBIBYTES = 65_536
/** Scans pass over pages once: a cache that stays in the cache of the processor is quicker than a larger one. The inner pages of a table fit into it. */
const SCANNER_CACHE_KIBIBYTES = 1024

export interface OpenDatabase {
  readonly filename: string
  readonly guard: FileGuard
  readonly writer: DriverDatabase
  readonly reader: DriverDatabase
  /**
   * One more connection that only reads; the caller closes it. Throws `unavailable` if the files have been replaced: it would read other ones than
   * the writer and the reader do, and a scan reads on several connections.
   */
  openScanner(): DriverDatabase
  /** Throws the code unless commits are as durable as configured. */
  assertDurable(code: 'failed_precondition' | 'outcome_unknown'): void
  /** Moves what is committed from the log into the file, as far as no reader needs it in the log. */
  checkpoint(): void
  close(): void
}

/** The drivers by name. Each is loaded at its first use. */
const DRIVERS: Readonly<Record<DriverName, () => OpenConnection>> = {
  'better-sqlite3': loadBetterSqlite,
  'node:sqlite': loadNodeSqlite,
}

/** How a database is opened. */
export interface OpeningOptions {
  readonly filename: string
  readonly synchronous: Synchronous
  readonly driver: DriverName
}

export function openDatabase({ filename, synchronous, driver }: OpeningOptions): OpenDatabase {
  if (typeof filename !== 'string' || filename === ':memory:' || filename.trim() === '') {
    throw new VaultError(
      'invalid_request',
      'sqliteStorage: `filename` must be the name of a file. For a vault in memory use strongroom/memory.',
    )
  }
  const source = { driver, connect: loadDriver(driver), filename }
  assertWritableFile(filename)
  let writer: DriverDatabase | undefined
  let reader: DriverDatabase | undefined
  try {
    assertSoleDriver(filename, driver)
    writer = open(source, CACHE_KIBIBYTES)
    setUpWriter(writer, synchronous)
    writer.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
    reader = openReader(source, CACHE_KIBIBYTES)
    return opened(source, { writer, reader }, synchronous)
  } catch (error) {
    reader?.close()
    writer?.close()
    const mapped = mapSqliteError(error, undefined, filename)
    // It stays another file, however often it is opened.
    if (sqliteCodeOf(error) === 'SQLITE_NOTADB')
      throw new VaultError('failed_precondition', mapped.message, {}, { cause: mapped })
    const isOfPlace = !isBusyError(mapped) && (mapped.code === 'unavailable' || mapped.code === 'internal')
    throw isVaultError(error) || !isOfPlace ? mapped : (placeError(filename) ?? mapped)
  }
}

function loadDriver(name: DriverName): OpenConnection {
  const load = typeof name === 'string' && Object.hasOwn(DRIVERS, name) ? DRIVERS[name] : undefined
  if (load !== undefined) return load()
  throw new VaultError('invalid_request', "sqliteStorage: driver must be 'better-sqlite3' or 'node:sqlite'.")
}

/** A file, its driver, and the function of the driver that opens connections. */
interface Source {
  readonly driver: DriverName
  readonly connect: OpenConnection
  readonly filename: string
}

function open({ connect, filename }: Source, cacheKibibytes: number): DriverDatabase {
  const connection = connect(filename, OPENING_TIMEOUT_MS)
  connection.pragma(`cache_size = -${cacheKibibytes}`)
  // Undo data of a statement is kept in memory: on disk it costs more than the statement.
  connection.pragma('temp_store = memory')
  return connection
}

function openReader(source: Source, cacheKibibytes: number): DriverDatabase {
  const connection = open(source, cacheKibibytes)
  connection.pragma('query_only = on')
  connection.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  return connection
}

function setUpWriter(writer: DriverDatabase, synchronous: Synchronous): void {
  if (writer.pragma('journal_mode = wal') !== 'wal') {
    throw new VaultError('failed_precondition', 'The SQLite file cannot be switched to WAL mode. Keep it on a local disk.')
  }
  // The driver's build lowers `synchronous` when a WAL file is first read; reading first and setting afterwards holds.
  writer.prepare('select count(*) from sqlite_schema', 'rows').get()
  writer.pragma(`synchronous = ${synchronous}`)
  writer.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
}

function opened(
  source: Source,
  { writer, reader }: { readonly writer: DriverDatabase; readonly reader: DriverDatabase },
  synchronous: Synchronous,
): OpenDatabase {
  const assertDurable: OpenDatabase['assertDurable'] = (code) => {
    if (writer.pragma('synchronous') === LEVELS[synchronous]) return
    throw new VaultError(code, `SQLite did not apply synchronous = ${synchronous}, so commits would not be durable.`)
  }
  assertDurable('failed_precondition')
  const path = realpathSync(source.filename)
  const noteClosed = noteOpenFile(path, source.driver)
  const guard = createFileGuard(path)
  return {
    filename: path,
    guard,
    writer,
    reader,
    openScanner() {
      // Opening a file that is gone would make one.
      guard.assertInPlace()
      const scanner = openReader(source, SCANNER_CACHE_KIBIBYTES)
      try {
        // Opens the log too.
        scanner.pragma('data_version')
        guard.assertInPlace()
        return scanner
      } catch (error) {
        scanner.close()
        throw error
      }
    },
    checkpoint() {
      try {
        writer.pragma('wal_checkpoint(passive)')
      } catch {
        // What is committed is in the log, from which SQLite moves it later.
      }
    },
    assertDurable,
    close() {
      try {
        writer.pragma('optimize')
      } catch {
        // Statistics only: another process holds the file and can refresh them.
      }
      reader.close()
      writer.close()
      noteClosed()
    },
  }
}
