/** Runs steps on a better-sqlite3 connection: at once, on prepared statements that are kept. */
import type { Database, Statement } from 'better-sqlite3'
import type { SqlStatement } from '../sql/sql-statements.ts'
import { toEngineFault } from './engine-faults.ts'
import type { Answer, Lane, RawRow, Step, Steps, TableWork } from './table-work.ts'

export interface DriverLane extends Lane {
  run<T>(work: TableWork<T>): T
}

/** `reading` lanes stand in no transaction. */
export function createDriverLane(database: Database, purpose: 'reading' | 'transaction'): DriverLane {
  const prepared = new WeakMap<SqlStatement, Statement<unknown[], unknown>>()

  function statementOf(step: Step): Statement<unknown[], unknown> {
    const found = prepared.get(step.statement)
    if (found !== undefined) return found
    const made = database.prepare<unknown[], unknown>(step.statement.text).safeIntegers(false)
    if (step.kind === 'rows') made.raw()
    prepared.set(step.statement, made)
    return made
  }

  function perform(step: Step): Answer {
    const statement = statementOf(step)
    if (step.kind === 'change') return { rows: NO_ROWS, changed: statement.run(step.parameters).changes }
    // A statement in raw mode answers arrays; the driver's types do not know.
    return { rows: statement.all(step.parameters) as RawRow[], changed: 0 }
  }

  return {
    stands: () => purpose === 'reading' || database.inTransaction,
    run: (work) => runSteps(work, perform),
  }
}

const NO_ROWS: readonly RawRow[] = []

function runSteps<T>(work: TableWork<T>, perform: (step: Step) => Answer): T {
  const steps: Steps<T> = work.begin()
  let at = steps.next()
  while (at.done !== true) {
    let answer: Answer
    try {
      answer = perform(at.value)
    } catch (error) {
      at = steps.throw(toEngineFault(error, work.shape))
      continue
    }
    at = steps.next(answer)
  }
  return at.value
}
