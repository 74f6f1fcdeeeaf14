/** Turns what SQLite throws into `VaultError`s that carry its code and never its text, which may quote values. */
import { isVaultError, VaultError } from '../../core/errors.ts'
import { conflictError, engineError, fullError, strippedCause, unavailableError } from '../sql/sql-errors.ts'
import type { TableShape } from '../sql/table-shapes.ts'

const ENGINE = 'SQLite'
const UNIQUE = 'UNIQUE constraint failed: '

const busyFaults = new WeakSet<Error>()
const overflowFaults = new WeakSet<Error>()

/** True where another connection held the file and trying again may help. */
export function isBusyFault(fault: unknown): boolean {
  return fault instanceof Error && busyFaults.has(fault)
}

/** True where a plain integer sum did not fit 64 bits. */
export function isOverflowFault(fault: unknown): boolean {
  return fault instanceof Error && overflowFaults.has(fault)
}

/** The error to throw for anything an engine call threw. */
export function toEngineFault(error: unknown, shape: TableShape | undefined): VaultError {
  if (isVaultError(error)) return error
  const code = codeOf(error)
  const message = error instanceof Error ? error.message : ''
  const cause = strippedCause(ENGINE, code)
  if (message.startsWith(UNIQUE)) return uniqueFault(message.slice(UNIQUE.length), shape, cause)
  if (message === 'integer overflow') {
    const overflow = new VaultError('internal', 'A sum of integers left 64 bits.', {}, { cause })
    overflowFaults.add(overflow)
    return overflow
  }
  if (message.startsWith('database is locked') || startsWithAny(code, ['SQLITE_BUSY', 'SQLITE_LOCKED'])) {
    const busy = unavailableError('Another connection holds the SQLite file; try again.', cause)
    busyFaults.add(busy)
    return busy
  }
  if (message.startsWith('database or disk is full') || startsWithAny(code, ['SQLITE_FULL'])) return fullError(ENGINE, cause)
  if (startsWithAny(code, UNREACHABLE_CODES)) return unavailableError('SQLite cannot read or write its file.', cause)
  if (message === 'The database connection is not open') return unavailableError('The SQLite database was closed.', cause)
  return engineError(ENGINE, shape?.name, cause)
}

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

function startsWithAny(code: string | undefined, starts: readonly string[]): boolean {
  return code !== undefined && starts.some((start) => code.startsWith(start))
}

/** The engine's own code, if it looks like one: drivers put free text in `code` at times. */
function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' && /^[A-Z0-9_]+$/.test(error.code) ? error.code : undefined
}

/** SQLite names the columns as `table.column, table.column`; they are found again among the indexes the table has. */
function uniqueFault(named: string, shape: TableShape | undefined, cause: Error): VaultError {
  const { name = 'the table', table } = shape ?? {}
  const candidates = [['id'], ...(table?.indexes ?? []).map((index) => index.columns)]
  const columns = candidates.find((columns) => columns.map((column) => `${name}.${column}`).join(', ') === named)
  const spelled = named.split(', ').map((part) => (part.startsWith(`${name}.`) ? part.slice(name.length + 1) : part))
  return conflictError(name, columns ?? spelled, undefined, cause)
}
