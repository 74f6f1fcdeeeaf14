/** Opens the two connections of one SQLite file and sets how durably they write. */
import { realpathSync } from 'node:fs'
import Database from 'better-sqlite3'
import { VaultError } from '../../core/errors.ts'
import { unavailableError } from '../errors/storage-errors.ts'
import { createFileGuard, type FileGuard } from './file-guard.ts'
import { mapSqliteError } from './sqlite-errors.ts'

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
  readonly writer: Database.Database
  readonly reader: Database.Database
  /** One more connection that only reads; the caller closes it. */
  openScanner(): Database.Database
  /** Throws the code unless commits are as durable as configured. */
  assertDurable(code: 'failed_precondition' | 'outcome_unknown'): void
  close(): void
}

export function openDatabase(filename: string, synchronous: Synchronous): OpenDatabase {
  if (typeof filename !== 'string' || filename === ':memory:' || filename.trim() === '') {
    throw new VaultError(
      'invalid_request',
      'sqliteStorage() needs the name of a file. For a vault in memory use strongroom/memory.',
    )
  }
  let writer: Database.Database | undefined
  let reader: Database.Database | undefined
  try {
    writer = open(filename, CACHE_KIBIBYTES)
    setUpWriter(writer, synchronous)
    writer.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
    reader = openReader(filename, CACHE_KIBIBYTES)
    return opened(filename, { writer, reader }, synchronous)
  } catch (error) {
    reader?.close()
    writer?.close()
    if (error instanceof TypeError) throw unavailableError('The folder of the SQLite file does not exist. Create it first.')
    throw mapSqliteError(error, undefined, filename)
  }
}

function open(filename: string, cacheKibibytes: number): Database.Database {
  const connection = new Database(filename, { timeout: OPENING_TIMEOUT_MS })
  connection.pragma(`cache_size = -${cacheKibibytes}`)
  // Undo data of a statement is kept in memory: on disk it costs more than the statement.
  connection.pragma('temp_store = memory')
  return connection
}

function openReader(filename: string, cacheKibibytes: number): Database.Database {
  const connection = open(filename, cacheKibibytes)
  connection.pragma('query_only = on')
  connection.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  return connection
}

function setUpWriter(writer: Database.Database, synchronous: Synchronous): void {
  if (writer.pragma('journal_mode = wal', { simple: true }) !== 'wal') {
    throw new VaultError('failed_precondition', 'The SQLite file cannot be switched to WAL mode. Keep it on a local disk.')
  }
  // The driver's build lowers `synchronous` when a WAL file is first read; reading first and setting afterwards holds.
  writer.prepare('select count(*) from sqlite_schema').get()
  writer.pragma(`synchronous = ${synchronous}`)
  writer.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
}

function opened(
  filename: string,
  { writer, reader }: { readonly writer: Database.Database; readonly reader: Database.Database },
  synchronous: Synchronous,
): OpenDatabase {
  const assertDurable: OpenDatabase['assertDurable'] = (code) => {
    if (writer.pragma('synchronous', { simple: true }) === LEVELS[synchronous]) return
    throw new VaultError(code, `SQLite did not apply synchronous = ${synchronous}, so commits would not be durable.`)
  }
  assertDurable('failed_precondition')
  const path = realpathSync(filename)
  return {
    filename: path,
    guard: createFileGuard(path),
    writer,
    reader,
    openScanner: () => openReader(filename, SCANNER_CACHE_KIBIBYTES),
    assertDurable,
    close() {
      try {
        writer.pragma('optimize')
      } catch {
        // Statistics only: another process holds the file and can refresh them.
      }
      reader.close()
      writer.close()
    },
  }
}
