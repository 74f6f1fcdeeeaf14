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

/** One step and what its rows come to. */
export interface OnlyStep<T> {
  readonly step: Step
  answer(rows: readonly RawRow[]): T
}

/** A connection inside a transaction, or one that reads. */
export interface Lane {
  /** Runs all steps with nothing in between. A promise only where the connection cannot answer at once. */
  run<T>(work: TableWork<T>): T | Promise<T>
  /** False once the transaction this lane stands in is gone, so far as that can be known. */
  stands(): boolean
}

/** Work of one statement that reads. */
export function reading<T>(shape: TableShape, step: Step, answer: (rows: readonly RawRow[]) => T): TableWork<T> {
  return {
    shape,
    *begin() {
      return answer((yield step).rows)
    },
    only: { step, answer },
  }
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

const SAVEPOINT: SqlStatement = { text: 'savepoint strongroom' }
const RELEASE: SqlStatement = { text: 'release strongroom' }
const UNDO: SqlStatement = { text: 'rollback to strongroom' }

export function* openSavepoint(): Steps<void> {
  yield* change(SAVEPOINT, [])
}

export function* keepSavepoint(): Steps<void> {
  yield* change(RELEASE, [])
}

export function* undoSavepoint(): Steps<void> {
  yield* change(UNDO, [])
  yield* change(RELEASE, [])
}

const ROLLBACK: SqlStatement = { text: 'rollback' }

/** Gives the whole transaction up, as SQLite itself does on some errors; everything in it then finds that it no longer stands. */
export function* abandonTransaction(): Steps<void> {
  try {
    yield* change(ROLLBACK, [])
  } catch {
    // SQLite had undone it already.
  }
}

/** Runs steps so that a failure leaves nothing of them behind. */
export function* allOrNone<T>(steps: Steps<T>): Steps<T> {
  yield* openSavepoint()
  try {
    const result = yield* steps
    yield* keepSavepoint()
    return result
  } catch (error) {
    try {
      yield* undoSavepoint()
    } catch {
      // The engine undid the whole transaction by itself; the first error says why.
    }
    throw error
  }
}
