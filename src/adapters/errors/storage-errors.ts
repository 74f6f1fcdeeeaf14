/** The errors all storages report alike: names of tables, columns and engine codes, never a cell and never an engine's own text. */
import { VaultError } from '../../core/errors.ts'
import type { PhysicalType } from '../../core/ports/storage.ts'
import { bareCause } from '../../core/util/causes.ts'

/** A fresh error that carries the engine's code and nothing else, because engine messages may quote values. */
export function strippedCause(engine: string, code: string | undefined): Error {
  return bareCause(`${engine} reported ${code ?? 'an error without a code'}`)
}

/** `conflict`: two rows would share the value of a unique index. `index` is the position of the row or patch in the request. */
export function conflictError(
  table: string,
  columns: readonly string[],
  options: { readonly index?: number | undefined; readonly cause?: Error } = {},
): VaultError {
  const { index, cause } = options
  const detail = index === undefined ? { table, columns } : { table, columns, index }
  const message = `Another row of table ${quoted(table)} has the same value in ${columnsText(columns)}. Send another value, or update that row.`
  return new VaultError('conflict', message, detail, { cause })
}

/** `conflict` on `id`: rows with higher ids were committed after these ids were reserved, in a table whose ids rise in the order of commits. */
export function outOfOrderError(table: string): VaultError {
  const message = `Rows of table ${quoted(table)} were committed with higher ids meanwhile. Reserve other ids, inside a transaction.`
  return new VaultError('conflict', message, { table, columns: ['id'] })
}

/** `unavailable`: the engine cannot be reached, is busy, is closed, or failed to read or write. */
export function unavailableError(message: string, cause?: Error): VaultError {
  return new VaultError('unavailable', message, {}, { cause })
}

/** `unavailable`: the handle was closed. */
export function closedError(engine: string, cause?: Error): VaultError {
  return unavailableError(`This ${engine} storage is closed. Open a new one.`, cause)
}

/** `storage_full`: the engine has no space left to write. The storage can still read, and writes again as soon as there is space. */
export function fullError(engine: string, cause: Error): VaultError {
  return new VaultError('storage_full', `${engine} cannot write: the disk is full. Free space, then retry.`, {}, { cause })
}

/** `outcome_unknown`: the storage was lost during COMMIT. */
export function outcomeUnknownError(what: string, cause: Error): VaultError {
  return new VaultError('outcome_unknown', `${what} during COMMIT; the outcome is unknown. Check before retrying.`, {}, { cause })
}

/** `internal`: anything else the engine refused, which is a defect of this library. */
export function engineError(engine: string, table: string | undefined, cause: Error): VaultError {
  const place = table === undefined ? '' : ` on table ${quoted(table)}`
  return new VaultError('internal', `${engine} refused a statement${place}.`, table === undefined ? {} : { table }, { cause })
}

/** `internal`: a column of another type is read as bytes. */
export function notBytesError(table: string, column: string): VaultError {
  return new VaultError(
    'internal',
    `Column ${quoted(column)} of table ${quoted(table)} has no bytes. Scan it with the shape column.`,
    {
      table,
      column,
    },
  )
}

/** `data_loss`: an integer column holds other text. BigInt would quote it. */
export function damagedIntegerError(): VaultError {
  return new VaultError(
    'data_loss',
    'An integer column holds a cell that is no integer: it was changed in the database. Restore it.',
  )
}

/** `data_loss`: reading cannot go on after an id that no row can have: it was changed in the database. */
export function damagedIdError(table: string): VaultError {
  return new VaultError(
    'data_loss',
    `A row of table ${quoted(table)} has an id that no row can have. Restore it from a backup.`,
    {
      table,
    },
  )
}

/** `data_loss`: no row ids can be given out, because the counter was changed in the database. Ids after a wrong one could belong to rows. */
export function damagedCounterError(table: string, counters: string): VaultError {
  const message = `The counter of row ids of table ${quoted(table)} in table ${quoted(counters)} is no integer: it was changed in the database. Restore it from a backup.`
  return new VaultError('data_loss', message, { table })
}

/** `internal`: a table that was never given to `prepare` on this handle. */
export function unpreparedError(table: string): VaultError {
  return new VaultError('internal', `Table ${quoted(table)} was not prepared. Call prepare() with it first.`, { table })
}

/** `internal`: a column the prepared table does not have. */
export function unknownColumnError(table: string, column: string): VaultError {
  const message = `Table ${quoted(table)} has no column ${quoted(column)}. Call prepare() with it first.`
  return new VaultError('internal', message, { table, column })
}

/** `internal`: an aggregate that is undefined for the type of its column. */
export function aggregateError(table: string, column: string | undefined, kind: string): VaultError {
  const over = column === undefined ? 'without a column' : `over column ${quoted(column)}`
  return new VaultError('internal', `Cannot compute ${kind} ${over} of table ${quoted(table)}.`, { table })
}

/** `failed_precondition`: a column exists with another type. Storage never converts stored cells by itself. */
export function retypedError(table: string, column: string, stored: string, wanted: PhysicalType): VaultError {
  const message = `Column ${quoted(`${table}.${column}`)} has type ${stored} and cannot change to ${wanted}. Add a new column.`
  return new VaultError('failed_precondition', message, { table, column })
}

/** `failed_precondition`: a table that has more columns than the engine takes. */
export function tooManyColumnsError(
  engine: string,
  table: string,
  { count, max }: { readonly count: number; readonly max: number },
): VaultError {
  const message = `Table ${quoted(table)} needs ${count} columns, and a table of ${engine} has at most ${max}. Plain columns and digests count, sealed ones without a digest do not. Split the table, or seal columns.`
  return new VaultError('failed_precondition', message, { table })
}

/** `failed_precondition`: a unique index over rows that already repeat a value. */
export function duplicatesError(table: string, columns: readonly string[], cause?: Error): VaultError {
  const message = `The unique index on ${columnsText(columns)} of table ${quoted(table)} cannot be created: it holds duplicate values. Remove them first.`
  const [column] = columns
  const detail = column === undefined ? { table, columns } : { table, column, columns }
  return new VaultError('failed_precondition', message, detail, { cause })
}

/** `internal`: the storage handed to a transaction was used after that transaction ended. */
export function endedError(): VaultError {
  return new VaultError('internal', 'The transaction of this storage has ended. Await every call inside the callback.')
}

/** `internal`: code inside a transaction called the storage around it, and would wait for itself. */
export function outerStorageError(): VaultError {
  return new VaultError(
    'internal',
    'The outer storage was called inside a transaction and would deadlock. Use the storage passed to the callback.',
  )
}

/** `storage_full`: no ids are left under the highest one a pointer can carry. */
export function idsExhaustedError(table: string): VaultError {
  return new VaultError('storage_full', `Table ${quoted(table)} has no row ids left.`, { table })
}

function quoted(name: string): string {
  return `"${name}"`
}

function columnsText(columns: readonly string[]): string {
  return `${columns.length === 1 ? 'column' : 'columns'} ${columns.map(quoted).join(', ')}`
}

/** Thrown where a patch of a `commit` does not apply. It never leaves the storage. */
const MISSED = new Error('a patch does not apply')

/** Throws if one of these patches was not applied. */
export function assertApplied(applied: readonly boolean[]): void {
  if (applied.includes(false)) throw MISSED
}

/** Returns false for the error of `assertApplied`. Rethrows any other. */
export function falseIfMissed(error: unknown): false {
  if (error !== MISSED) throw error
  return false
}
