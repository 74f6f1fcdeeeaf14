/** Runs steps on a connection of a SQLite driver: at once, on prepared statements that are kept. */
import type { VaultError } from '../../core/errors.ts'
import type { SqlStatement } from '../sql/sql-statements.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import type { DriverDatabase, DriverStatement } from './sqlite-driver.ts'
import { mapSqliteError, notJoinedError, rolledBackError } from './sqlite-errors.ts'
import type { Connection, OnlyStep, QuickStep, RawRow, Step, StepOutcome, Steps, TableWork } from './table-work.ts'

export interface DriverConnection extends Connection {
  run<T>(work: TableWork<T>): T
}

/** `reading` connections are outside any transaction. On a `writing` one only its own steps begin transactions, on a `joined` one the application does. */
export type Purpose = 'reading' | 'writing' | 'joined'

export function createDriverConnection(database: DriverDatabase, purpose: Purpose): DriverConnection {
  const prepared = new WeakMap<SqlStatement, DriverStatement>()
  /** False if no step changed anything since the driver last said that it is in no transaction. */
  let mayBeInTransaction = true

  function statementOf(step: Step): DriverStatement {
    const found = prepared.get(step.statement)
    if (found !== undefined) return found
    const made = database.prepare(step.statement.text, PREPARED_AS[step.kind])
    prepared.set(step.statement, made)
    return made
  }

  function read(step: Step): readonly RawRow[] {
    const statement = statementOf(step)
    if (step.kind !== 'row' && step.kind !== 'cell') return statement.all(step.parameters)
    const row = statement.get(...step.parameters)
    return row === undefined ? NO_ROWS : [row]
  }

  function perform(step: Step): StepOutcome {
    if (step.kind !== 'change') return { rows: read(step), changed: 0 }
    mayBeInTransaction = true
    return { rows: NO_ROWS, changed: statementOf(step).run(step.parameters).changes }
  }

  const fail: Engine['fail'] = (error, shape) => mapSqliteError(error, shape, database.name)

  const engine: Engine = { perform, fail }

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
    run: (work) =>
      (work.quick && runQuick(work.quick, work.shape, engine)) ??
      (work.only === undefined ? runSteps(work, engine) : runOnly(work.only, work.shape, engine)),
  }
}

const NO_ROWS: readonly RawRow[] = []

/** What the driver prepares for each kind of step. */
const PREPARED_AS = { rows: 'rows', row: 'rows', column: 'column', cell: 'column', change: 'change' } as const

/** Runs one step, and maps what it throws. */
interface Engine {
  perform(step: Step): StepOutcome
  fail(error: unknown, shape: TableShape | undefined): VaultError
}

function runQuick<T>({ step, result }: QuickStep<T>, shape: TableShape | undefined, { perform, fail }: Engine): T | undefined {
  let outcome: StepOutcome
  try {
    outcome = perform(step)
  } catch (error) {
    throw fail(error, shape)
  }
  return result(outcome)
}

function runOnly<T>(only: OnlyStep<T>, shape: TableShape | undefined, { perform, fail }: Engine): T {
  let outcome: StepOutcome
  try {
    outcome = perform(only.step)
  } catch (error) {
    const failure = fail(error, shape)
    throw only.failure?.(failure) ?? failure
  }
  return only.result(outcome)
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
