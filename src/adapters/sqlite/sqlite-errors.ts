/** Maps what SQLite throws to `VaultError`s that carry its code and never its text, which may quote values. */
import { isVaultError, VaultError } from '../../core/errors.ts'
import { errorText } from '../../core/util/causes.ts'
import { closedError, conflictError, engineError, fullError, strippedCause, unavailableError } from '../errors/storage-errors.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import { isDiskFull } from './disk-space.ts'
import { sqliteCodeOf } from './sqlite-codes.ts'

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
