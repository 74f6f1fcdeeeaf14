/** The pass that gives the hidden columns of a table their values in the rows of before, beside writers, who store both. */
import type { Barrier } from '../barrier/barrier.ts'
import type { Values } from '../barrier/parse-record.ts'
import { openRows } from '../barrier/reveal.ts'
import { createCatalogFence } from '../catalog/catalog-fence.ts'
import { isVaultError } from '../errors.ts'
import type { Job, MaintenancePass } from '../maintenance/job.ts'
import { storeCurrent } from '../maintenance/store-current.ts'
import type { Row, Storage } from '../ports/storage.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import { DRAWN_TOKEN_TAKEN } from '../records/attempt-change.ts'
import { hiddenValues } from '../records/hidden-values.ts'
import { storeChanges, type WritingContext } from '../records/record-store.ts'
import { type PassPlace, rowPass } from '../rotation/row-pass.ts'
import type { Layout, Table, WrittenTable } from '../schema/layout.ts'
import { UNNOTED } from '../unit-of-work/delta-batch.ts'
import { unitWithin } from '../unit-of-work/unit-of-work.ts'
import { attempt } from '../util/attempt.ts'
import { present } from '../util/lists.ts'
import type { FillPorts } from './fill-rows.ts'

/** What the pass needs. */
export interface SucceedPorts extends FillPorts {
  readonly clock: Clock
  readonly scheduler: Scheduler
}

/** The rows, by column, whose values cannot take their new form, or are those of an earlier row by it. */
export interface SucceedCounts {
  readonly unfit: Record<string, number>
  readonly equal: Record<string, number>
}

/** A table with hidden columns. */
export interface Succeeding extends PassPlace {
  readonly table: Table
  readonly written: WrittenTable
  readonly layout: Layout
  readonly counts: SucceedCounts
}

/** Rows of one slice at most: they are locked while they are sealed. */
const MAX_ROWS = 200

/** Returns the pass. Rows that have their hidden cells are passed over, so a pass that runs again does nothing twice. */
export function succeedPass(ports: SucceedPorts, job: Job, succeeding: Succeeding): MaintenancePass {
  const { storage, catalog } = ports
  const { table, counts, after, placeAt } = succeeding
  const current = { storage, catalog: createCatalogFence(catalog, { part: catalog.state.schema }) }
  const rowsOf = { table: table.physical.name, name: table.name, after, first: 32, max: MAX_ROWS }
  return rowPass(storage, rowsOf, async (rows, last) => {
    const ids = rows.map(({ id }) => id)
    const found = await storeCurrent(current, async (inner) => {
      const problems = await succeedSlice(ports, inner, succeeding, ids)
      await job.savePlace(inner, placeAt(last))
      return problems
    })
    for (const { kind, column } of found) counts[kind][column] = (counts[kind][column] ?? 0) + 1
  })
}

/** A row that could not be stored. */
interface Problem {
  readonly kind: keyof SucceedCounts
  readonly column: string
}

/** Stores the hidden cells of some rows, which no one else changes meanwhile. Returns one problem for each row that cannot have them. */
async function succeedSlice(
  ports: SucceedPorts,
  storage: Storage,
  succeeding: Succeeding,
  ids: readonly number[],
): Promise<readonly Problem[]> {
  const { name } = succeeding.table.physical
  if (ids.length === 0) return []
  await storage.lock({ kind: 'rows', table: name, ids })
  const changes = missingValues(ports.barrier, succeeding.written, present(await storage.get(name, ids)))
  const problems: Problem[] = []
  const fit: RowToSucceed[] = []
  for (const { row, given } of changes) {
    try {
      fit.push({ row, values: onlyHidden(succeeding.written, given) })
    } catch (error) {
      problems.push(problemOf(error))
    }
  }
  if (fit.length === 0) return problems
  const together = await storeRows(ports, storage, succeeding, fit)
  if (together === undefined) return problems
  if (fit.length === 1) return [...problems, together]
  // Each by itself shows which of them are in the way.
  for (const one of fit) {
    const problem = await storeRows(ports, storage, succeeding, [one])
    if (problem !== undefined) problems.push(problem)
  }
  return problems
}

/** A row that lacks a hidden cell, and the values of the columns of the schema that it is made of. */
interface MissingCells {
  readonly row: Row
  readonly given: Values
}

/** Returns the rows with a value whose hidden cell is missing. */
export function missingValues(barrier: Barrier, written: WrittenTable, rows: readonly Row[]): readonly MissingCells[] {
  const cursor = openRows(barrier, written, rows)
  return rows.flatMap((row, index) => {
    cursor.to(index)
    const given: unknown[] = []
    for (const { column } of written.hidden) {
      const { origin = column } = column
      const value = cursor.value(origin)
      if (value !== null && cursor.value(column) === null) given[origin.position] = value
    }
    return given.length === 0 ? [] : [{ row, given }]
  })
}

/** Returns the values of the hidden columns alone. Throws for one that does not convert. */
export function onlyHidden(written: WrittenTable, given: Values): Values {
  const all = hiddenValues(written, given, undefined)
  const hidden: unknown[] = new Array(written.columns.length).fill(undefined)
  for (const { column } of written.hidden) hidden[column.position] = all[column.position]
  return hidden
}

interface RowToSucceed {
  readonly row: Row
  readonly values: Values
}

/** Stores rows in a savepoint. Returns the problem of one of them, with nothing stored; undefined if all are stored. */
async function storeRows(
  { catalog, indexNotes = UNNOTED, ...ports }: SucceedPorts,
  storage: Storage,
  { written, layout }: Succeeding,
  rows: readonly RowToSucceed[],
): Promise<Problem | undefined> {
  const context: WritingContext = {
    ...ports,
    indexNotes,
    layout,
    catalog: { assertWritable() {}, hiddenTokenIds: () => [], holdsFiles: () => false, holds: 0 },
    event: { setWrittenRows() {} },
  }
  const request = {
    table: written,
    rows: rows.map(({ row }) => row),
    records: rows.map(({ values }) => values),
    supplied: rows.map(() => undefined),
    indexes: rows.map(() => undefined),
  }
  const drawn = { is: (error: unknown) => error === DRAWN_TOKEN_TAKEN, most: 100 }
  try {
    await attempt([drawn], () => storage.transaction((inner) => storeChanges(unitWithin(inner), context, request)))
    return undefined
  } catch (error) {
    return problemOf(error)
  }
}

/** Returns the name of the column of the schema that an error is of. */
export function schemaName(column = ''): string {
  return column.replace(/ \(as changed\)$/, '')
}

/** Returns the problem that an error is of. Throws another one. */
function problemOf(error: unknown): Problem {
  const isEqual = isVaultError(error, 'conflict')
  if (!isEqual && !isVaultError(error, 'unprocessable')) throw error
  return { kind: isEqual ? 'equal' : 'unfit', column: schemaName(error.details[0]?.column) }
}
