/** Runs steps inside a Kysely transaction the application opened. */
import { CompiledQuery, type Transaction } from 'kysely'
import type { AnyTables } from '../sql/sql-dialect.ts'
import { toIntegerCell } from '../sql/stored-cells.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import { mapSqliteError } from './sqlite-errors.ts'
import type { Connection, QuickStep, RawRow, Step, StepOutcome, Steps, TableWork } from './table-work.ts'

export function createKyselyConnection(transaction: Transaction<AnyTables>): Connection {
  // Bypasses plugins, which rename and rewrite: these statements and rows are not the application's.
  const plain = transaction.withoutPlugins()

  async function perform(step: Step): Promise<StepOutcome> {
    const query = CompiledQuery.raw(step.statement.text, [...step.parameters])
    const { rows, numAffectedRows } = await plain.executeQuery(query)
    const raw = rows.map((row) => toRawRow(row, step.columns))
    return { rows: step.kind === 'column' ? [raw.map(([cell]) => cell)] : raw, changed: Number(numAffectedRows ?? 0n) }
  }

  return {
    isPipelined: false,
    isOpen: () => true,
    assertOpen() {},
    async run(work) {
      return (work.quick && (await runQuick(work.quick, work.shape, perform))) ?? runSteps(work, perform)
    },
  }
}

function toRawRow(row: unknown, columns: readonly string[]): RawRow {
  // Every Kysely driver returns rows as plain objects keyed by column.
  const cells = row as Readonly<Record<string, unknown>>
  return columns.map((column) => {
    const cell = cells[column]
    return typeof cell === 'bigint' ? toIntegerCell(cell) : cell
  })
}

type Perform = (step: Step) => Promise<StepOutcome>

async function runQuick<T>(
  { step, result }: QuickStep<T>,
  shape: TableShape | undefined,
  perform: Perform,
): Promise<T | undefined> {
  let outcome: StepOutcome
  try {
    outcome = await perform(step)
  } catch (error) {
    throw mapSqliteError(error, shape)
  }
  return result(outcome)
}

async function runSteps<T>(work: TableWork<T>, perform: Perform): Promise<T> {
  const steps: Steps<T> = work.begin()
  let at = steps.next()
  while (at.done !== true) {
    let outcome: StepOutcome
    try {
      outcome = await perform(at.value)
    } catch (error) {
      at = steps.throw(mapSqliteError(error, work.shape))
      continue
    }
    at = steps.next(outcome)
  }
  return at.value
}
