/** How work on tables is written down once and run on any connection: as steps that are asked for, one after the other. */
import type { SqlStatement } from '../sql/sql-statements.ts'
import type { TableShape } from '../sql/table-shapes.ts'

/** One statement to run. `rows` answers rows as arrays of cells, `row` the first of them, `change` the number of rows changed. */
export interface Step {
  readonly kind: 'rows' | 'row' | 'change'
  readonly statement: SqlStatement
  readonly parameters: readonly unknown[]
  /** Names of the cells of a row, in order, for connections that answer rows as objects. */
  readonly columns: readonly string[]
}

export type RawRow = readonly unknown[]

export interface Answer {
  readonly rows: readonly RawRow[]
  readonly changed: number
}

/** Steps asked for; a step that fails is thrown back in as a `VaultError`. */
export type Steps<T> = Generator<Step, T, Answer>

/** Work that can be begun any number of times, and the table to name when it fails. */
export interface TableWork<T> {
  readonly shape: TableShape | undefined
  begin(): Steps<T>
  /** The same as one step, where it is one: a point read is so short that walking a generator shows. */
  readonly only?: OnlyStep<T>
}

/** One step and what its answer comes to. */
export interface OnlyStep<T> {
  readonly step: Step
  result(answer: Answer): T
}

/** A connection inside a transaction, or one that reads. */
export interface Lane {
  /** Runs all steps with nothing in between. A promise only where the connection cannot answer at once. */
  run<T>(work: TableWork<T>): T | Promise<T>
  /** False once the transaction this lane stands in is gone, so far as that can be known. */
  stands(): boolean
}

/** Work of one step. */
export function onlyStep<T>(shape: TableShape | undefined, step: Step, result: (answer: Answer) => T): TableWork<T> {
  return {
    shape,
    *begin() {
      return result(yield step)
    },
    only: { step, result },
  }
}

/** Work of one statement that binds nothing, answers nothing and concerns no table. */
export function command(text: string): TableWork<void> {
  return onlyStep(undefined, { kind: 'change', statement: { text }, parameters: [], columns: NO_COLUMNS }, () => undefined)
}

const NO_COLUMNS: readonly string[] = []

export function* change(statement: SqlStatement, parameters: readonly unknown[]): Steps<number> {
  const answer = yield { kind: 'change', statement, parameters, columns: NO_COLUMNS }
  return answer.changed
}

export function* rows(
  statement: SqlStatement,
  parameters: readonly unknown[],
  columns: readonly string[],
): Steps<readonly RawRow[]> {
  const answer = yield { kind: 'rows', statement, parameters, columns }
  return answer.rows
}

export const OPEN_SAVEPOINT = command('savepoint strongroom')
export const KEEP_SAVEPOINT = command('release strongroom')
const BACK_TO_SAVEPOINT = command('rollback to strongroom')

export const UNDO_SAVEPOINT: TableWork<void> = {
  shape: undefined,
  *begin() {
    yield* BACK_TO_SAVEPOINT.begin()
    yield* KEEP_SAVEPOINT.begin()
  },
}

const ROLLBACK = command('rollback')

/** Gives the whole transaction up, as SQLite itself does on some errors; everything in it then finds that it no longer stands. */
export function* abandonTransaction(): Steps<void> {
  try {
    yield* ROLLBACK.begin()
  } catch {
    // SQLite had undone it already.
  }
}

/** Runs steps so that a failure leaves nothing of them behind. */
export function* allOrNone<T>(steps: Steps<T>): Steps<T> {
  yield* OPEN_SAVEPOINT.begin()
  try {
    const result = yield* steps
    yield* KEEP_SAVEPOINT.begin()
    return result
  } catch (error) {
    try {
      yield* UNDO_SAVEPOINT.begin()
    } catch {
      // The engine undid the whole transaction by itself; the first error says why.
    }
    throw error
  }
}
