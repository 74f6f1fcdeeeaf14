/** The one connection of a handle: steps, which run at once or as a host's connection lets them, and the guard that notices a deleted or replaced file. */

import { type Stats, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { VaultError } from '../../core/errors.ts'
import { outcomeUnknownError, unavailableError } from '../errors/storage-errors.ts'
import type { LevelConnection } from '../sql/nested-transaction.ts'
import type { SqlStatement } from '../sql/sql-statements.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import type { DriverDatabase, DriverStatement, RawRow } from './drivers.ts'
import { mapSqliteError, notJoinedError, rolledBackError } from './sqlite-errors.ts'

/**
 * One statement to run. `rows` returns rows as arrays of cells, `row` the first of them, `change` the number of rows changed, and `column` the
 * cells of a statement of one column as one row.
 */
export interface Step {
  readonly kind: 'rows' | 'row' | 'column' | 'change'
  readonly statement: SqlStatement
  readonly parameters: readonly unknown[]
  /** Names of the cells of a row, in order, for connections that return rows as objects. */
  readonly columns: readonly string[]
}

export interface StepOutcome {
  readonly rows: readonly RawRow[]
  readonly changed: number
}

/** The steps of some work; a step that fails is thrown back in as a `VaultError`. */
export type Steps<T> = Generator<Step, T, StepOutcome>

/** Work that can be begun any number of times, and the table to name when it fails. */
export interface TableWork<T> {
  readonly shape: TableShape | undefined
  begin(): Steps<T>
  /** The same as one step, where it is one: running a generator costs a fifth of a point read, and a tenth of a commit of one row. */
  readonly only?: OnlyStep<T>
}

/** One step, and the function that turns its outcome into the result. */
interface OnlyStep<T> {
  readonly step: Step
  result(outcome: StepOutcome): T
  /** Returns what is thrown for the error of the step. */
  failure(error: unknown): unknown
}

/** A connection inside a transaction, or one that reads. */
export interface Connection extends LevelConnection {
  /** Runs all steps with nothing in between. Returns a promise only if the connection is asynchronous. */
  run<T>(work: TableWork<T>): T | Promise<T>
  /** False once the transaction on this connection has ended, as far as that can be known. */
  isOpen(): boolean
}

/** Work of one step. `failure` returns what is thrown for the error of the step: by default, the error. */
export function onlyStep<T>(
  shape: TableShape | undefined,
  step: Step,
  result: (outcome: StepOutcome) => T,
  failure: (error: unknown) => unknown = asItIs,
): TableWork<T> {
  return {
    shape,
    *begin() {
      try {
        return result(yield step)
      } catch (error) {
        throw failure(error)
      }
    },
    only: { step, result, failure },
  }
}

function asItIs(error: unknown): unknown {
  return error
}

/** Work of one statement that binds nothing, returns nothing and concerns no table. */
export function command(text: string): TableWork<void> {
  return onlyStep(undefined, changeStep({ text }, []), () => undefined)
}

const NO_COLUMNS: readonly string[] = []

export function changeStep(statement: SqlStatement, parameters: readonly unknown[]): Step {
  return { kind: 'change', statement, parameters, columns: NO_COLUMNS }
}

export function* change(statement: SqlStatement, parameters: readonly unknown[]): Steps<number> {
  const outcome = yield changeStep(statement, parameters)
  return outcome.changed
}

export function* rows(
  statement: SqlStatement,
  parameters: readonly unknown[],
  columns: readonly string[],
): Steps<readonly RawRow[]> {
  const outcome = yield { kind: 'rows', statement, parameters, columns }
  return outcome.rows
}

/** The steps of work that has nothing to do. */
// biome-ignore lint/correctness/useYield: there is no step.
export function* nothing(): Steps<[]> {
  return []
}

export const OPEN_SAVEPOINT = command('savepoint strongroom')
export const RELEASE_SAVEPOINT = command('release strongroom')
const BACK_TO_SAVEPOINT = command('rollback to strongroom')

export const ROLLBACK_TO_SAVEPOINT: TableWork<void> = {
  shape: undefined,
  *begin() {
    yield* BACK_TO_SAVEPOINT.begin()
    yield* RELEASE_SAVEPOINT.begin()
  },
}

const ROLLBACK = command('rollback')

/** Rolls back the whole transaction, as SQLite itself does on some errors; all work in it then finds its connection no longer open. */
export function* rollbackTransaction(): Steps<void> {
  try {
    yield* ROLLBACK.begin()
  } catch {
    // SQLite had rolled it back already.
  }
}

/** Runs steps so that a failure leaves nothing of them behind. */
export function* atomically<T>(steps: Steps<T>): Steps<T> {
  yield* OPEN_SAVEPOINT.begin()
  try {
    const result = yield* steps
    yield* RELEASE_SAVEPOINT.begin()
    return result
  } catch (error) {
    try {
      yield* ROLLBACK_TO_SAVEPOINT.begin()
    } catch {
      // SQLite rolled back the whole transaction by itself; the first error says why.
    }
    throw error
  }
}

export interface DriverConnection extends Connection {
  run<T>(work: TableWork<T>): T
}

/** `reading` connections are outside any transaction. On a `writing` one only its own steps begin transactions, on a `joined` one the application does. */
export type Purpose = 'reading' | 'writing' | 'joined'

/** A connection of a driver. Prepared statements are kept. */
export function createDriverConnection(database: DriverDatabase, purpose: Purpose): DriverConnection {
  const prepared = new WeakMap<SqlStatement, DriverStatement>()
  /** False if no step changed anything since the driver last said that it is in no transaction. */
  let mayBeInTransaction = true

  function statementOf({ statement, kind }: Step): DriverStatement {
    const found = prepared.get(statement)
    if (found !== undefined) return found
    const made = database.prepare(statement.text, kind === 'row' ? 'rows' : kind)
    prepared.set(statement, made)
    return made
  }

  const engine: Engine = {
    perform(step) {
      const statement = statementOf(step)
      if (step.kind === 'change') {
        mayBeInTransaction = true
        return { rows: NO_ROWS, changed: statement.run(step.parameters).changes }
      }
      if (step.kind !== 'row') return { rows: statement.all(step.parameters), changed: 0 }
      const row = statement.get(...step.parameters)
      return { rows: row === undefined ? NO_ROWS : [row], changed: 0 }
    },
    fail: (error, shape) => mapSqliteError(error, shape, database.name),
  }

  function isOpen(): boolean {
    if (purpose === 'reading') return true
    // Each read asks, and the answer of the driver costs a fortieth of it.
    if (purpose === 'writing' && !mayBeInTransaction) return false
    mayBeInTransaction = database.inTransaction
    return mayBeInTransaction
  }

  return {
    isPipelined: false,
    isOpen,
    assertOpen() {
      if (!isOpen()) throw purpose === 'joined' ? notJoinedError() : rolledBackError()
    },
    run: (work) => (work.only === undefined ? runSteps(work, engine) : runOnly(work.only, work.shape, engine)),
  }
}

const NO_ROWS: readonly RawRow[] = []

/** Runs one step, and maps what it throws. */
interface Engine {
  perform(step: Step): StepOutcome
  fail(error: unknown, shape: TableShape | undefined): VaultError
}

function runOnly<T>({ step, result, failure }: OnlyStep<T>, shape: TableShape | undefined, { perform, fail }: Engine): T {
  let outcome: StepOutcome
  try {
    outcome = perform(step)
  } catch (error) {
    throw failure(fail(error, shape))
  }
  return result(outcome)
}

function runSteps<T>(work: TableWork<T>, { perform, fail }: Engine): T {
  const steps: Steps<T> = work.begin()
  let at = steps.next()
  while (at.done !== true) {
    let outcome: StepOutcome
    try {
      outcome = perform(at.value)
    } catch (error) {
      at = steps.throw(fail(error, work.shape))
      continue
    }
    at = steps.next(outcome)
  }
  return at.value
}

export interface FileGuard {
  /** Throws `outcome_unknown` if a file is gone, and remembers it. Called after a commit, before it is acknowledged. */
  assertSame(): void
  /** Throws `unavailable` once a file was found gone. */
  assertPresent(): void
  /** Looks whether a file is gone, remembers it, and throws `unavailable`. Called where the files are opened by their names once more. */
  assertInPlace(): void
}

/** The database, the log of its last commits, and the index of that log. */
const SUFFIXES = ['', '-wal', '-shm'] as const
/** Two changes of a folder have different times only if they are this far from each other: clocks of file systems tick in milliseconds, of FAT in two seconds. */
const QUIET_MS = 3000

/**
 * Guards the files as they are now: all three exist once a database is open in WAL mode. Deleting, renaming or replacing a file changes
 * the time of change of its folder, which nothing can set back. So while the folder is unchanged, one look at it replaces three.
 */
export function createFileGuard(filename: string, now: () => number = Date.now): FileGuard {
  const names = SUFFIXES.map((suffix) => `${filename}${suffix}`)
  const identities = names.map(identityOf)
  const folder = dirname(filename)
  let isLost = false
  /** The folder as it was before the files were last looked at; undefined if it had changed shortly before. */
  let known: Stats | undefined

  function assertPresent(): void {
    if (isLost)
      throw unavailableError(
        'The SQLite file was deleted or replaced while it was open, or cannot be looked at any more. Restore it, then open it again.',
      )
  }

  function look(): void {
    const found = statsOf(folder)
    if (!isLost && found !== undefined && known !== undefined && isUnchanged(known, found)) return
    isLost ||= names.some((name, index) => identityOf(name) !== identities[index])
    known = !isLost && found !== undefined && now() - found.ctimeMs > QUIET_MS ? found : undefined
  }

  return {
    assertSame() {
      look()
      if (isLost) throw outcomeUnknownError('The SQLite file was deleted or replaced', new Error('The file has another identity'))
    },
    assertPresent,
    assertInPlace() {
      look()
      assertPresent()
    },
  }
}

function isUnchanged(before: Stats, after: Stats): boolean {
  const isSameTime = before.ctimeMs === after.ctimeMs && before.mtimeMs === after.mtimeMs
  return isSameTime && before.ino === after.ino && before.dev === after.dev
}

/** Device and inode; undefined if there is no such file. */
function identityOf(name: string): string | undefined {
  const found = statsOf(name)
  return found === undefined ? undefined : `${found.dev}:${found.ino}`
}

/** Undefined also where looking fails: the commit before it is stored, so its error would say the contrary. */
function statsOf(name: string): Stats | undefined {
  try {
    return statSync(name, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
