/** Turns what PostgreSQL and its driver throw into `VaultError`s that carry the SQLSTATE and never the text, which may quote values. */
import { isVaultError, VaultError } from '../../core/errors.ts'
import type { Cell } from '../../core/ports/storage.ts'
import { conflictError, engineError, fullError, strippedCause, unavailableError } from '../sql/sql-errors.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import { toWireCell } from './wire-cells.ts'

const ENGINE = 'PostgreSQL'

/** What was being done, so that a fault can name the place. */
export interface Scene {
  readonly shape?: TableShape
  /** Columns of a unique index by the index's name, as prepared. */
  readonly uniqueColumns?: ReadonlyMap<string, readonly string[]>
  /** The cells a statement wrote, in the order of the request. */
  readonly written?: readonly Readonly<Record<string, Cell>>[]
  /** Position in the request of the first of them. */
  readonly start?: number
}

/** Errors after which the same work may succeed if run again: it lost against another transaction and was undone. */
const collisions = new WeakSet<Error>()

/** True for a deadlock or serialization failure, also where core wrapped it. */
export function isCollision(fault: unknown): boolean {
  for (let error = fault, depth = 0; error instanceof Error && depth < 8; error = error.cause, depth++) {
    const state = sqlState(error)
    if (collisions.has(error) || state === '40001' || state === '40P01') return true
  }
  return false
}

/** Says of an error of any kind that the work that threw it lost against another transaction. */
export function markCollision(error: unknown): void {
  if (error instanceof Error) collisions.add(error)
}

/** True when the connection cannot be used again. */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlState(error)
  return state === undefined || state.startsWith('08') || state.startsWith('57P')
}

/** The cause to attach: SQLSTATE, or what the operating system said (`ECONNREFUSED`), and nothing else. */
export function bareCause(error: unknown): Error {
  const code = textOf(error, 'code')
  return strippedCause(ENGINE, code !== undefined && /^[0-9A-Z_]+$/.test(code) ? code : undefined)
}

export function sqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || isVaultError(error) || !('code' in error)) return undefined
  // Node's own codes (ECONNRESET) hold no digit; EPIPE has five letters.
  return typeof error.code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined
}

/** The error to throw for anything a statement threw. */
export function toPostgresFault(error: unknown, scene: Scene): VaultError {
  if (isVaultError(error)) return error
  const state = sqlState(error)
  const cause = bareCause(error)
  if (state === undefined) return unavailableError('The connection to PostgreSQL was lost or could not be opened.', cause)
  if (state === '23505') return uniqueFault(error, scene, cause)
  if (state === '54000') return tooLongFault(error, scene, cause)
  if (state === '40001' || state === '40P01') {
    const fault = new VaultError(
      'aborted',
      'The transaction failed repeatedly by deadlock or serialization. Retry.',
      {},
      { cause },
    )
    markCollision(fault)
    return fault
  }
  return faultOfState(state, scene, cause)
}

function faultOfState(state: string, scene: Scene, cause: Error): VaultError {
  switch (state) {
    case '22003':
      return new VaultError('out_of_range', 'A number is beyond the range of its type.', {}, { cause })
    case '53100':
      return fullError(ENGINE, cause)
    case '55P03':
      return unavailableError('PostgreSQL gave up waiting for a lock; try again.', cause)
    case '57014':
      return unavailableError('PostgreSQL ended a statement that ran over its time limit.', cause)
    case '25P02':
      return new VaultError(
        'internal',
        'An earlier statement of this transaction failed; nothing more can run in it.',
        {},
        { cause },
      )
    case '26000':
    case '42P05':
      return new VaultError(
        'internal',
        'A prepared statement stands on another connection: behind a transaction pooler set namedStatements to false.',
        {},
        { cause },
      )
  }
  if (UNAVAILABLE_CLASSES.some((start) => state.startsWith(start))) {
    return unavailableError('PostgreSQL is not available at the moment.', cause)
  }
  return engineError(ENGINE, scene.shape?.name, cause)
}

/** Connection, authorization, missing database, resources, operator's shutdown, system errors. */
const UNAVAILABLE_CLASSES = ['08', '28', '3D', '53', '57P', '58']

function uniqueFault(error: unknown, scene: Scene, cause: Error): VaultError {
  const table = scene.shape?.name ?? textOf(error, 'table') ?? 'the table'
  const columns = scene.uniqueColumns?.get(textOf(error, 'constraint') ?? '') ?? []
  return conflictError(table, columns, positionOf(error, columns, scene), cause)
}

/** An entry of a B-tree holds at most 2704 bytes after compression; no other limit is met by statements of ours. */
function tooLongFault(error: unknown, { shape, written = [], start = 0 }: Scene, cause: Error): VaultError {
  const table = shape?.name ?? textOf(error, 'table')
  const detail = { ...(table === undefined ? {} : { table }), ...(written.length === 1 ? { index: start } : {}) }
  const message = `A text of ${table ?? 'a table'} is too long for its index in PostgreSQL; shorten it, or take the column's index away.`
  return new VaultError('unprocessable', message, detail, { cause })
}

/**
 * The position whose own cells the engine's detail speaks of. Where two rows of one request share the key, the later
 * one is named: it could not stand in any case.
 */
function positionOf(error: unknown, columns: readonly string[], scene: Scene): number | undefined {
  const { shape, written = [], start = 0 } = scene
  if (written.length === 1) return start
  const detail = textOf(error, 'detail')
  if (detail === undefined || shape === undefined || columns.length === 0) return undefined
  const positions: number[] = []
  for (const [position, cells] of written.entries()) {
    if (columns.every((column) => cells[column] !== undefined) && detail.includes(`=(${keyText(shape, columns, cells)})`)) {
      positions.push(start + position)
    }
  }
  return positions[1] ?? positions[0]
}

function keyText(shape: TableShape, columns: readonly string[], cells: Readonly<Record<string, Cell>>): string {
  return columns
    .map((column) => {
      const wire = toWireCell(shape.types.get(column) ?? 'text', cells[column] ?? null)
      return Buffer.isBuffer(wire) ? `\\x${wire.toString('hex')}` : wire
    })
    .join(', ')
}

function textOf(error: unknown, field: string): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const value: unknown = Reflect.get(error, field)
  return typeof value === 'string' ? value : undefined
}
