/** Maps what SQLite throws to `VaultError`s that carry its code and never its text, which may quote values. */

import { accessSync, constants, statfsSync } from 'node:fs'
import { isVaultError, VaultError } from '../../core/errors.ts'
import { errorText } from '../../core/util/causes.ts'
import { closedError, conflictError, engineError, fullError, strippedCause, unavailableError } from '../errors/storage-errors.ts'
import type { TableShape } from '../sql/table-shapes.ts'

const ENGINE = 'SQLite'
const UNIQUE = 'UNIQUE constraint failed: '

const busyErrors = new WeakSet<Error>()
const overflowErrors = new WeakSet<Error>()
const syncErrors = new WeakSet<Error>()

/** True if another connection held the file and trying again may help. */
export function isBusyError(error: unknown): boolean {
  return error instanceof Error && busyErrors.has(error)
}

/** True if a plain integer sum did not fit 64 bits. */
export function isOverflowError(error: unknown): boolean {
  return error instanceof Error && overflowErrors.has(error)
}

/** True if the disk did not confirm a write, so that it may or may not be stored. */
export function isSyncError(error: unknown): boolean {
  return error instanceof Error && syncErrors.has(error)
}

/** `unavailable`: SQLite ended the transaction by itself. */
export function rolledBackError(): VaultError {
  return unavailableError('SQLite rolled back the transaction; nothing was stored. Retry.')
}

/** `aborted`: the transaction shared a commit with others, and SQLite rolled back all of them because of one. */
export function rolledBackWithOthers(error: unknown): VaultError {
  const cause = error instanceof Error ? error : undefined
  return new VaultError(
    'aborted',
    'SQLite rolled back the transaction because of another one; nothing was stored. Retry.',
    {},
    { cause },
  )
}

/** `invalid_request`: the transaction that was joined has ended, by the application or by SQLite. */
export function notJoinedError(): VaultError {
  const message = 'The transaction given to joinTransaction has ended, by the application or by SQLite. Begin another one.'
  return new VaultError('invalid_request', message)
}

/** The error to throw for anything an engine call threw. With `filename`, a failed write on a full disk is `storage_full`. */
export function mapSqliteError(error: unknown, shape: TableShape | undefined, filename?: string): VaultError {
  if (isVaultError(error)) return error
  const code = sqliteCodeOf(error)
  const message = errorText(error)
  const cause = strippedCause(ENGINE, code)
  if (message.startsWith(UNIQUE)) return uniqueError(message.slice(UNIQUE.length), shape, cause)
  if (message === 'integer overflow') return overflowError(cause)
  if (message.startsWith('database is locked') || startsWithAny(code, ['SQLITE_BUSY', 'SQLITE_LOCKED'])) return busyError(cause)
  if (message.startsWith('database or disk is full') || startsWithAny(code, ['SQLITE_FULL'])) return fullError(ENGINE, cause)
  if (startsWithAny(code, UNREACHABLE_CODES)) {
    if (startsWithAny(code, FULL_OR_BROKEN_CODES) && filename !== undefined && isDiskFull(filename))
      return fullError(ENGINE, cause)
    const error = unavailableError(code === 'SQLITE_NOTADB' ? NO_DATABASE : UNREACHABLE, cause)
    if (code?.endsWith('FSYNC') === true) syncErrors.add(error)
    return error
  }
  if (CLOSED_MESSAGES.has(message)) return closedError(ENGINE, cause)
  return engineError(ENGINE, shape?.name, cause)
}

/** What better-sqlite3 and node:sqlite say of a connection that is closed. */
const CLOSED_MESSAGES: ReadonlySet<string> = new Set(['The database connection is not open', 'database is not open'])

function overflowError(cause: Error): VaultError {
  const error = new VaultError('out_of_range', 'A sum of integers does not fit in 64 bits.', {}, { cause })
  overflowErrors.add(error)
  return error
}

function busyError(cause: Error): VaultError {
  const error = unavailableError('Another connection holds the SQLite file. Retry.', cause)
  busyErrors.add(error)
  return error
}

const UNREACHABLE = 'SQLite cannot read or write its file. Check the file and its disk, then retry.'
const NO_DATABASE = 'The file is not an SQLite database, or is encrypted. Check its name, or restore it.'

/** Codes by which SQLite says that the file, not the statement, is at fault. */
const UNREACHABLE_CODES = [
  'SQLITE_IOERR',
  'SQLITE_CANTOPEN',
  'SQLITE_READONLY',
  'SQLITE_CORRUPT',
  'SQLITE_NOTADB',
  'SQLITE_PERM',
  'SQLITE_NOMEM',
  'SQLITE_PROTOCOL',
]

/** Codes of these that a full disk has too. A sync that failed is not one: what it wrote may be stored. */
const FULL_OR_BROKEN_CODES = ['SQLITE_IOERR_WRITE', 'SQLITE_IOERR_SHM', 'SQLITE_IOERR_TRUNCATE', 'SQLITE_CANTOPEN']

function startsWithAny(code: string | undefined, starts: readonly string[]): boolean {
  return code !== undefined && starts.some((start) => code.startsWith(start))
}

/** SQLite names the columns as `table.column, table.column`; they are found again among the indexes of the table. */
function uniqueError(named: string, shape: TableShape | undefined, cause: Error): VaultError {
  const { name = '(unknown)', table } = shape ?? {}
  const candidates = [['id'], ...(table?.indexes ?? []).map((index) => index.columns)]
  const columns = candidates.find((columns) => columns.map((column) => `${name}.${column}`).join(', ') === named)
  const spelled = named.split(', ').map((part) => (part.startsWith(`${name}.`) ? part.slice(name.length + 1) : part))
  return conflictError(name, columns ?? spelled, { cause })
}

/** The primary codes in the order of their numbers, from 1. Source: https://sqlite.org/rescode.html. */
const PRIMARY = [
  'ERROR',
  'INTERNAL',
  'PERM',
  'ABORT',
  'BUSY',
  'LOCKED',
  'NOMEM',
  'READONLY',
  'INTERRUPT',
  'IOERR',
  'CORRUPT',
  'NOTFOUND',
  'FULL',
  'CANTOPEN',
  'PROTOCOL',
  'EMPTY',
  'SCHEMA',
  'TOOBIG',
  'CONSTRAINT',
  'MISMATCH',
  'MISUSE',
  'NOLFS',
  'AUTH',
  'FORMAT',
  'RANGE',
  'NOTADB',
] as const

/** The extended codes that this adapter distinguishes from the primary one. */
const EXTENDED: ReadonlyMap<number, string> = new Map([
  [778, 'SQLITE_IOERR_WRITE'],
  [1034, 'SQLITE_IOERR_FSYNC'],
  [1290, 'SQLITE_IOERR_DIR_FSYNC'],
  [1546, 'SQLITE_IOERR_TRUNCATE'],
  [4618, 'SQLITE_IOERR_SHMOPEN'],
  [4874, 'SQLITE_IOERR_SHMSIZE'],
  [5130, 'SQLITE_IOERR_SHMLOCK'],
  [5386, 'SQLITE_IOERR_SHMMAP'],
])

/** Returns SQLite's own code of what a driver threw, which passes it on as a name or as a number; undefined if it has none. */
export function sqliteCodeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  if ('errcode' in error && typeof error.errcode === 'number') return nameOf(error.errcode)
  // Drivers sometimes put free text in `code`.
  return 'code' in error && typeof error.code === 'string' && /^[A-Z0-9_]+$/.test(error.code) ? error.code : undefined
}

/** The low byte of an extended code is the primary one. */
function nameOf(code: number): string {
  const primary = PRIMARY[(code & 0xff) - 1]
  return EXTENDED.get(code) ?? (primary === undefined ? `SQLITE_${code}` : `SQLITE_${primary}`)
}

/** Less than SQLite extends a file by at once: 32 KiB, for the index of its log. */
const FULL_BELOW_BYTES = 64 * 1024

/**
 * True if the disk of a file has no space for another write: SQLite has several codes for it, and only one that says so. A file system that is
 * read-only often has no free block either, and is not full.
 */
function isDiskFull(filename: string): boolean {
  try {
    const folder = folderOf(filename)
    const { bavail, blocks, bsize } = statfsSync(folder)
    // One without blocks, such as /proc, holds no files that could fill it.
    if (blocks === 0 || bavail * bsize >= FULL_BELOW_BYTES) return false
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** The folder exists also where the file could not be created. */
function folderOf(filename: string): string {
  const end = Math.max(filename.lastIndexOf('/'), filename.lastIndexOf('\\'))
  return end < 0 ? '.' : filename.slice(0, end + 1)
}
