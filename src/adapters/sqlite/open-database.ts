/** Opens the two connections of one SQLite file, sets how durably they write, and says why a file cannot be opened. */
import { accessSync, constants, existsSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isVaultError, VaultError } from '../../core/errors.ts'
import { errorCode } from '../../core/util/causes.ts'
import { createFileGuard, type FileGuard } from './connection.ts'
import { type DriverDatabase, type DriverName, loadBetterSqlite, loadNodeSqlite, type OpenConnection } from './drivers.ts'
import { isBusyError, mapSqliteError, sqliteCodeOf } from './sqlite-errors.ts'

/** `full`: every commit reaches the disk before it is acknowledged. `normal`: a power failure may lose the last ones. */
export type Synchronous = 'full' | 'normal'

/** How SQLite numbers them. */
const LEVELS: Readonly<Record<Synchronous, number>> = { full: 2, normal: 1 }

/** While opening, another process may be switching the file to WAL, recovering it or writing all the time; nothing else runs yet. */
const OPENING_TIMEOUT_MS = 10_000
/** SQLite does not wait at all where waiting could be a deadlock, as when two processes switch one file to WAL. Opening then begins anew after this. */
const OPENING_PAUSE_MS = 5
/** SQLite sleeps inside the call and blocks the event loop, so it waits this short; the write queue waits longer. */
const BUSY_TIMEOUT_MS = 4
/** Random index keys touch many pages: rare checkpoints and a large cache combine their writes. */
const CHECKPOINT_PAGES = 16_000
const CACHE_KIBIBYTES = 65_536
/** Scans pass over pages once: a cache that stays in the cache of the processor is quicker than a larger one. The inner pages of a table fit into it. */
const SCANNER_CACHE_KIBIBYTES = 1024

interface OpenDatabase {
  readonly filename: string
  readonly guard: FileGuard
  readonly writer: DriverDatabase
  readonly reader: DriverDatabase
  /**
   * One more connection that only reads; the caller closes it. Throws `unavailable` if the files have been replaced: it would read other ones than
   * the writer and the reader do, and a scan reads on several connections.
   */
  openScanner(): DriverDatabase
  /** One more connection that rewrites the file, and waits for no lock; the caller closes it. Throws `unavailable` if the files have been replaced. */
  openRewriter(): DriverDatabase
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
interface OpeningOptions {
  readonly filename: string
  readonly synchronous: Synchronous
  readonly driver: DriverName
}

export function openDatabase(options: OpeningOptions): OpenDatabase {
  const end = performance.now() + OPENING_TIMEOUT_MS
  for (;;) {
    try {
      return openOnce(options)
    } catch (error) {
      if (!isBusyError(error) || performance.now() >= end) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, OPENING_PAUSE_MS)
    }
  }
}

function openOnce({ filename, synchronous, driver }: OpeningOptions): OpenDatabase {
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

/** Opens a connection and sets it up. The first setting reads the file: one that cannot be read is closed again. */
function open(
  { connect, filename }: Source,
  cacheKibibytes: number,
  setUp: (connection: DriverDatabase) => void = () => {},
): DriverDatabase {
  const connection = connect(filename, OPENING_TIMEOUT_MS)
  try {
    connection.pragma(`cache_size = -${cacheKibibytes}`)
    // Undo data of a statement is kept in memory: on disk it costs more than the statement.
    connection.pragma('temp_store = memory')
    setUp(connection)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

function openReader(source: Source, cacheKibibytes: number): DriverDatabase {
  return open(source, cacheKibibytes, (reader) => {
    reader.pragma('query_only = on')
    reader.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`)
  })
}

function setUpWriter(writer: DriverDatabase, synchronous: Synchronous): void {
  if (writer.pragma('journal_mode = wal') !== 'wal') {
    throw new VaultError('failed_precondition', 'The SQLite file cannot be switched to WAL mode. Keep it on a local disk.')
  }
  // The driver's build lowers `synchronous` when a WAL file is first read; reading first and setting afterwards holds.
  writer.prepare('select count(*) from sqlite_schema', 'rows').get()
  writer.pragma(`synchronous = ${synchronous}`)
  writer.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  // What is deleted is overwritten by zeros, also whole pages. What moving cells between pages leaves behind goes with a VACUUM only.
  writer.pragma('secure_delete = on')
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
    openScanner: () => besides(guard, () => openReader(source, SCANNER_CACHE_KIBIBYTES)),
    openRewriter: () =>
      besides(guard, () =>
        open(source, CACHE_KIBIBYTES, (rewriter) => {
          // A copy of the file can be larger than memory.
          rewriter.pragma('temp_store = file')
          rewriter.pragma('busy_timeout = 0')
          // Its commit is as durable as others.
          rewriter.pragma('synchronous = full')
        }),
      ),
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

/** Opens one more connection to the files that are open. Opening a file that is gone would make one. */
function besides(guard: FileGuard, open: () => DriverDatabase): DriverDatabase {
  guard.assertInPlace()
  const connection = open()
  try {
    // Opens the log too.
    connection.pragma('data_version')
    guard.assertInPlace()
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/**
 * The files that this process has open, by their identity, and the driver of each handle. Each driver has a SQLite of its own, and locks of one
 * process do not hold against itself: two of them on one file write at the same time, and damage it. A file can have several names: links, and
 * letters of either case. Source: https://sqlite.org/howtocorrupt.html, section 2.2.1.
 */
const openFiles = new Map<string, DriverName[]>()

/**
 * Throws `failed_precondition` if another driver has the file open. Called before a connection is made: closing one already drops the locks
 * of the other driver, and removes the log of its commits, which the closing driver takes for its own.
 */
function assertSoleDriver(filename: string, driver: DriverName): void {
  const identity = identityOf(filename)
  const other = identity === undefined ? undefined : openFiles.get(identity)?.find((each) => each !== driver)
  if (other === undefined) return
  throw new VaultError(
    'failed_precondition',
    `This process has the SQLite file open with the driver ${other}, and ${driver} would not see its locks. Use one driver for all handles of a process.`,
  )
}

/** Notes an existing file as open. Returns the function that notes its end. */
function noteOpenFile(filename: string, driver: DriverName): () => void {
  const identity = identityOf(filename) ?? filename
  const drivers = openFiles.get(identity) ?? []
  drivers.push(driver)
  openFiles.set(identity, drivers)
  return () => {
    drivers.pop()
    if (drivers.length === 0) openFiles.delete(identity)
  }
}

/** Returns what all names of a file have in common; undefined if there is no such file. */
function identityOf(filename: string): string | undefined {
  const found = statSync(filename, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? undefined : `${found.dev}:${found.ino}`
}

const { R_OK, W_OK, X_OK } = constants

/** Throws `failed_precondition` for what is there and is no file that can be read and written: SQLite opens it, and fails at the first write. */
function assertWritableFile(filename: string): void {
  const found = statsOf(filename)
  if (found?.isFile() === false)
    throw placeErrorOf(
      found.isDirectory()
        ? 'the name is that of a folder. Add the name of a file in it, such as vault.db.'
        : 'the name is that of a device, a pipe or a socket. Give the name of a file.',
    )
  const problem = found === undefined ? undefined : problemOfFiles(filename)
  if (problem !== undefined) throw placeErrorOf(problem)
}

/** `failed_precondition` that names what is wrong with the place of the file, as the operating system knows it; undefined if nothing is. */
function placeError(filename: string): VaultError | undefined {
  const code = codeOf(() => statSync(filename))
  const isReached = code === undefined || code === 'ENOENT'
  const problem = isReached ? problemOfRights(filename) : (PROBLEMS[code] ?? UNREACHABLE)
  if (problem === undefined && code === 'ENOENT') return placeErrorOf(NO_FILES)
  return problem === undefined ? undefined : placeErrorOf(problem)
}

const UNREACHABLE = 'this process may not look into the folder of the SQLite file. Give its account that right.'

const NO_FILES = 'no file can be made in the folder of the SQLite file. Keep it on a file system that stores files.'

/** What is wrong with a path that the system cannot follow. */
const PROBLEMS: Readonly<Record<string, string>> = {
  ERR_INVALID_ARG_VALUE: 'the path of the SQLite file has a NUL character. Remove it.',
  ENOTDIR: 'a part of the path of the SQLite file is a file, not a folder. Correct the path.',
  ENAMETOOLONG: 'the path of the SQLite file is longer than the system allows. Shorten it.',
  ELOOP: 'the path of the SQLite file leads through symbolic links without an end. Correct them.',
}

function placeErrorOf(problem: string): VaultError {
  return new VaultError('failed_precondition', `sqliteStorage: ${problem}`)
}

function problemOfRights(filename: string): string | undefined {
  const folder = dirname(filename)
  if (!existsSync(folder)) return 'the folder of the SQLite file does not exist. Create it first.'
  const code = codeOf(() => accessSync(folder, W_OK | X_OK))
  if (code === 'EROFS') return READ_ONLY
  if (code === undefined) return problemOfFiles(filename)
  return 'this process may not write in the folder of the SQLite file, where SQLite makes files beside it. Give its account that right.'
}

const READ_ONLY = 'the file system of the SQLite file is read-only. Keep the file where it can be written.'

/** What is wrong with those of the files that are there. */
function problemOfFiles(filename: string): string | undefined {
  const files = [filename, `${filename}-wal`, `${filename}-shm`].filter((name) => existsSync(name))
  const code = files.map((name) => codeOf(() => accessSync(name, R_OK | W_OK))).find((found) => found !== undefined)
  if (code === 'EROFS') return READ_ONLY
  if (code === undefined) return undefined
  return 'this process may not read and write the SQLite file, or the files -wal and -shm beside it. Give its account that right.'
}

function statsOf(name: string): Stats | undefined {
  try {
    return statSync(name, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Returns the code of what the work throws, or UNKNOWN; undefined if it throws nothing. */
function codeOf(work: () => unknown): string | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    return errorCode(error) ?? 'UNKNOWN'
  }
}
