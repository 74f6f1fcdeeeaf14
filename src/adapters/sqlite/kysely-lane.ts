/** Runs steps inside a Kysely transaction the application opened. */
import { CompiledQuery, type Transaction } from 'kysely'
import type { AnyTables } from '../sql/sql-manners.ts'
import { toIntegerCell } from '../sql/stored-cells.ts'
import { toEngineFault } from './engine-faults.ts'
import type { Answer, Lane, RawRow, Step, Steps, TableWork } from './table-work.ts'

export function createKyselyLane(transaction: Transaction<AnyTables>): Lane {
  // Plugins rename and rewrite what passes; these statements and rows are ours, not the application's.
  const plain = transaction.withoutPlugins()

  async function perform(step: Step): Promise<Answer> {
    const query = CompiledQuery.raw(step.statement.text, [...step.parameters])
    const { rows, numAffectedRows } = await plain.executeQuery(query)
    return { rows: rows.map((row) => toRawRow(row, step.columns)), changed: Number(numAffectedRows ?? 0n) }
  }

  return {
    stands: () => true,
    async run(work) {
      return runSteps(work, perform)
    },
  }
}

function toRawRow(row: unknown, columns: readonly string[]): RawRow {
  // Every Kysely driver answers rows as plain objects keyed by column.
  const cells = row as Readonly<Record<string, unknown>>
  return columns.map((column) => {
    const cell = cells[column]
    return typeof cell === 'bigint' ? toIntegerCell(cell) : cell
  })
}

async function runSteps<T>(work: TableWork<T>, perform: (step: Step) => Promise<Answer>): Promise<T> {
  const steps: Steps<T> = work.begin()
  let at = steps.next()
  while (at.done !== true) {
    let answer: Answer
    try {
      answer = await perform(at.value)
    } catch (error) {
      at = steps.throw(toEngineFault(error, work.shape))
      continue
    }
    at = steps.next(answer)
  }
  return at.value
}
