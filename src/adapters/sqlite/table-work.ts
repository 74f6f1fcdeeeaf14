/** Work on tables as steps, one after the other, so that the same work runs on any connection. */
import type { VaultError } from '../../core/errors.ts'
import type { LevelConnection } from '../sql/nested-transaction.ts'
import type { SqlStatement } from '../sql/sql-statements.ts'
import type { TableShape } from '../sql/table-shapes.ts'

/**
 * One statement to run. `rows` returns rows as arrays of cells, `row` the first of them, `change` the number of rows changed. For statements
 * of one column, `column` returns the cells of all rows as one row, and `cell` a row of the first of them.
 */
export interface Step {
  readonly kind: 'rows' | 'row' | 'column' | 'cell' | 'change'
  readonly statement: SqlStatement
  readonly parameters: readonly unknown[]
  /** Names of the cells of a row, in order, for connections that return rows as objects. */
  readonly columns: readonly string[]
}

export type RawRow = readonly unknown[]

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
  /** The same as one step, where it is one: a point read is so short that running a generator costs measurably more. */
  readonly only?: OnlyStep<T>
  /** A shorter step that is mostly enough. Where it is not, the work is begun after it. */
  readonly quick?: QuickStep<T>
}

/** One step, and the function that turns its outcome into the result. */
export interface OnlyStep<T> {
  readonly step: Step
  result(outcome: StepOutcome): T
  /** Returns what is thrown for the error of the step. Default: the error. */
  failure?(error: VaultError): unknown
}

/** One step, and the function that turns its outcome into the result, or returns undefined if that needs the work itself. */
export interface QuickStep<T> {
  readonly step: Step
  result(outcome: StepOutcome): T | undefined
}

/** A connection inside a transaction, or one that reads. */
export interface Connection extends LevelConnection {
  /** Runs all steps with nothing in between. Returns a promise only if the connection is asynchronous. */
  run<T>(work: TableWork<T>): T | Promise<T>
  /** False once the transaction on this connection has ended, as far as that can be known. */
  isOpen(): boolean
}

/** Work of one step. */
export function onlyStep<T>(shape: TableShape | undefined, step: Step, result: (outcome: StepOutcome) => T): TableWork<T> {
  return {
    shape,
    *begin() {
      return result(yield step)
    },
    only: { step, result },
  }
}

/** Work of one statement that changes rows. `result` is given their number, and `failure` the error of the statement. */
export function onlyChange<T>(
  shape: TableShape,
  { statement, parameters }: Pick<Step, 'statement' | 'parameters'>,
  { result, failure }: { result(changed: number): T; failure(error: unknown): unknown },
): TableWork<T> {
  const step: Step = { kind: 'change', statement, parameters, columns: NO_COLUMNS }
  return {
    shape,
    *begin() {
      try {
        return result((yield step).changed)
      } catch (error) {
        throw failure(error)
      }
    },
    only: { step, result: ({ changed }) => result(changed), failure },
  }
}

/** Work of one statement that binds nothing, returns nothing and concerns no table. */
export function command(text: string): TableWork<void> {
  return onlyStep(undefined, { kind: 'change', statement: { text }, parameters: [], columns: NO_COLUMNS }, () => undefined)
}

const NO_COLUMNS: readonly string[] = []

export function* change(statement: SqlStatement, parameters: readonly unknown[]): Steps<number> {
  const outcome = yield { kind: 'change', statement, parameters, columns: NO_COLUMNS }
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
