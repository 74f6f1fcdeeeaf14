/** The words both SQL engines use when they fail: names of tables, columns and engine codes, never a cell and never engine text. */
import { VaultError } from '../../core/errors.ts'
import type { PhysicalType } from '../../core/ports/storage.ts'

/** A fresh error that carries the engine's code and nothing else, because engine messages may quote values. */
export function strippedCause(engine: string, code: string | undefined): Error {
  return new Error(`${engine} answered ${code ?? 'an error without a code'}`)
}

/** Two rows would share the value of a unique index. `index` is the position of the row or patch in the request. */
export function conflictError(table: string, columns: readonly string[], index: number | undefined, cause: Error): VaultError {
  const detail = index === undefined ? { table, columns } : { table, columns, index }
  return new VaultError('conflict', `Another row of ${table} already holds this ${columns.join(', ')}.`, detail, { cause })
}

/** The engine cannot be reached, is busy, is closed, or failed to read or write. */
export function unavailableError(message: string, cause?: Error): VaultError {
  return new VaultError('unavailable', message, {}, { cause })
}

/** The engine has no room left to write. Reading goes on. */
export function fullError(engine: string, cause: Error): VaultError {
  return new VaultError('storage_full', `${engine} cannot write: the disk is full. Free space, then retry.`, {}, { cause })
}

/** Anything else the engine refused: a fault of ours, not of the caller. */
export function engineError(engine: string, table: string | undefined, cause: Error): VaultError {
  const place = table === undefined ? '' : ` on table ${table}`
  return new VaultError('internal', `${engine} refused a statement${place}.`, table === undefined ? {} : { table }, { cause })
}

/** A table that was never given to `prepare` on this handle. */
export function unpreparedError(table: string): VaultError {
  return new VaultError('internal', `Table ${table} was not prepared; call prepare() with it first.`, { table })
}

/** A column the prepared table does not have. */
export function unknownColumnError(table: string, column: string): VaultError {
  return new VaultError('internal', `Table ${table} has no column ${column}.`, { table, column })
}

/** A measure that makes no sense for its column. */
export function measureError(table: string, column: string | undefined, kind: string): VaultError {
  return new VaultError('internal', `Cannot compute ${kind} over ${table}.${column ?? '(no column)'}.`, { table })
}

/** A column stands with another type than the one asked for; storage never converts stored cells by itself. */
export function retypedError(table: string, column: string, stands: string, asked: PhysicalType): VaultError {
  const message = `Column ${table}.${column} stands as ${stands} and cannot become ${asked}; add a column under a new name.`
  return new VaultError('failed_precondition', message, { table, column })
}

/** A unique index was asked for over rows that already repeat a value. */
export function duplicatesError(table: string, columns: readonly string[], cause: Error): VaultError {
  const message = `Column ${columns.join(', ')} of ${table} cannot become unique: some of its values stand more than once.`
  const [column] = columns
  return new VaultError('failed_precondition', message, column === undefined ? { table, columns } : { table, column, columns }, {
    cause,
  })
}

/** The storage handed to a transaction was used after that transaction ended. */
export function endedError(): VaultError {
  return new VaultError('internal', 'This storage belongs to a transaction that has ended; await every call inside it.')
}

/** No ids are left under the highest one a pointer can carry. */
export function idsExhaustedError(table: string): VaultError {
  return new VaultError('storage_full', `Table ${table} has no row ids left.`, { table })
}
