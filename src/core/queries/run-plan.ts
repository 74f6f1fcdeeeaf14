/** Runs a query plan: returns its rows or its aggregates. */
import { VaultError } from '../errors.ts'
import { type ColumnRef, typeOf, type ValueOf } from '../expressions/condition.ts'
import type { ColumnCells, ScanPage } from '../ports/storage.ts'
import { type Column, plainValue } from '../schema/column-layout.ts'
import { createAccumulator, resultsOfCells } from '../sql/aggregate.ts'
import type { Plan, StepPlan } from '../sql/plan.ts'
import type { AggregateOutput } from '../sql/query.ts'
import { unreachable } from '../util/causes.ts'
import { append, at, required } from '../util/lists.ts'
import type { JsonValue } from '../values/column-type.ts'
import type { BudgetMeter } from './budget-meter.ts'
import { charging, type GroupOutputs, groupRows, orderGroups } from './group-rows.ts'
import { firstByIndex, type IndexOrder } from './index-order.ts'
import { totalsOfIndexes } from './index-totals.ts'
import { joinRows } from './join-rows.ts'
import { createSelection } from './order-rows.ts'
import { createResidualFilter } from './residual-filter.ts'
import { createKeepingReader, createRowReader, createValueReader, type Scanning, scanRows, TableScan } from './scan-rows.ts'
import { type BufferedRow, createReader, type ReadBuffered, sizeOfTuple, type Tuple } from './scanned-rows.ts'

/**
 * The result of a plan: rows whose values are still to be redacted, or one value per aggregate. Of groups, the first row of each, and the values of
 * its aggregates in `totals`. `values` is undefined if LIMIT or OFFSET leaves out the one record of aggregates.
 */
export type PlanResult =
  | {
      readonly kind: 'rows'
      readonly tuples: readonly Tuple[]
      readonly read: ReadBuffered
      readonly isCut: boolean
      readonly totals?: readonly (readonly JsonValue[])[]
    }
  | { readonly kind: 'totals'; readonly values: readonly JsonValue[] | undefined }

/** Runs a plan within its budget. Throws a `range` error if an aggregate overflows a double. */
export function runPlan(context: Scanning, plan: Plan, meter: BudgetMeter): Promise<PlanResult> {
  const { outputs } = plan.query
  const running = { meter, read: createReader(plan) }
  switch (outputs.kind) {
    case 'rows':
      return resultRows(context, plan, running)
    case 'totals':
      return resultTotals(context, plan, { ...running, aggregates: outputs.aggregates })
    case 'groups':
      return resultGroups(context, plan, { ...running, outputs })
    default:
      return unreachable(outputs)
  }
}

interface Running {
  readonly meter: BudgetMeter
  readonly read: ReadBuffered
}

async function resultRows(context: Scanning, plan: Plan, running: Running): Promise<PlanResult> {
  const { query, first, steps, strategy } = plan
  const { offset, mayBeCut } = query
  // One record more shows whether there are more.
  const limit = mayBeCut ? query.limit + 1 : query.limit
  const result = (tuples: readonly Tuple[]): PlanResult => {
    const isCut = tuples.length > query.limit
    return { kind: 'rows', tuples: isCut ? tuples.slice(0, query.limit) : tuples, read: running.read, isCut }
  }
  if (limit === 0) return result([])
  if (strategy.kind === 'page') {
    const reader = createRowReader(createResidualFilter(context.barrier, first), first)
    const page = { order: 'asc', offset, limit, columns: reader.columns } as const
    const rows = await context.storage.find(first.source.table.physical.name, first.filter, page)
    return result(asTuples(reader.read(rows, limit)))
  }
  if (strategy.kind === 'sorted') return result(await rowsInOrder(context, plan, { ...running, ...strategy, offset, limit }))
  const window = createWindow(offset, limit)
  if (steps.length === 0) {
    const scan = scanRows(context, { plan: first, meter: running.meter, limit: offset + limit })
    for (let rows = await scan.next(); rows !== undefined; rows = await scan.next()) {
      window.add(asTuples(rows))
      if (window.isFull()) break
    }
  } else {
    for await (const tuples of joined(context, plan, running)) {
      window.add(tuples)
      if (window.isFull()) break
    }
  }
  return result(window.tuples)
}

/** Rows to return in order. */
interface Ordered extends Running, Omit<IndexOrder, 'keys'> {
  /** The keys that a sealed index has in that order; undefined if none has. */
  readonly keys: IndexOrder['keys'] | undefined
}

/** Returns the tuples of LIMIT and OFFSET in order: by a sealed index, or of all that are read. */
export async function rowsInOrder(context: Scanning, plan: Plan, { keys, ...wanted }: Ordered): Promise<readonly Tuple[]> {
  const found = keys && (await wanted.meter.attempt(() => firstByIndex(context, plan.first, { ...wanted, keys })))
  return found === undefined ? firstInOrder(context, plan, wanted) : asTuples(found)
}

/** Reads all rows, and returns those of LIMIT and OFFSET in order. */
async function firstInOrder(
  context: Scanning,
  plan: Plan,
  { order, start, ...window }: Omit<Ordered, 'keys'>,
): Promise<readonly Tuple[]> {
  const keys = order.map(({ ref, direction }) => ({ direction, compare: typeOf(ref).compare }))
  const selection = createSelection({ ...window, keys, sizeOf: sizeOfTuple })
  const valuesOf = (tuple: Tuple) => order.map(({ ref }) => window.read(tuple[ref.source], ref))
  const add = (tuples: readonly Tuple[]) => {
    for (const tuple of tuples) {
      const values = valuesOf(tuple)
      if (start?.isUpTo(tuple[0], values[0]) !== true) selection.add(tuple, values)
    }
  }
  if (plan.steps.length > 0) for await (const tuples of joined(context, plan, window)) add(tuples)
  else {
    const keeps = (cellOf: ValueOf) => selection.keeps(order.map(({ ref }) => cellOf(ref) ?? null))
    const reader = createKeepingReader(createResidualFilter(context.barrier, plan.first), plan.first, keeps)
    const scan = new TableScan(context, { plan: plan.first, meter: window.meter }, reader)
    for (let batch = await scan.next(); batch !== undefined; batch = await scan.next()) add(asTuples(batch.rows))
  }
  return selection.take()
}

/** Collects the tuples from OFFSET up to LIMIT. */
function createWindow(offset: number, limit: number) {
  const found: Tuple[] = []
  let toSkip = offset
  return {
    tuples: found,
    isFull: () => found.length === limit,
    add(tuples: readonly Tuple[]) {
      const skipped = Math.min(toSkip, tuples.length)
      toSkip -= skipped
      append(found, tuples.slice(skipped, skipped + limit - found.length))
    },
  }
}

/** Groups all rows, and returns those of LIMIT and OFFSET in order. */
async function resultGroups(
  context: Scanning,
  plan: Plan,
  { outputs, ...running }: Running & { readonly outputs: GroupOutputs },
): Promise<PlanResult> {
  const { offset, mayBeCut } = plan.query
  const { meter, read } = running
  const limit = mayBeCut ? plan.query.limit + 1 : plan.query.limit
  const groups = limit === 0 ? [] : await groupRows(joined(context, plan, running), outputs, running)
  const ordered = await orderGroups(groups, outputs, { offset, limit, meter, read })
  const isCut = ordered.length > plan.query.limit
  const shown = isCut ? ordered.slice(0, plan.query.limit) : ordered
  return {
    kind: 'rows',
    tuples: shown.map(({ tuple }) => tuple),
    read,
    isCut,
    totals: shown.map(({ accumulators }) => accumulators.map((accumulator) => accumulator.result())),
  }
}

/** What aggregates read, and how. */
interface RunningTotals extends Running {
  readonly aggregates: readonly AggregateOutput[]
}

async function resultTotals(context: Scanning, plan: Plan, running: RunningTotals): Promise<PlanResult> {
  // Aggregates are one record: any OFFSET skips it, and LIMIT 0 leaves it out.
  const isLeftOut = plan.query.limit === 0 || plan.query.offset > 0
  return { kind: 'totals', values: isLeftOut ? undefined : await totals(context, plan, running) }
}

async function totals(context: Scanning, plan: Plan, { aggregates, ...running }: RunningTotals): Promise<JsonValue[]> {
  const { first, steps, strategy } = plan
  switch (strategy.kind) {
    case 'aggregate': {
      const cells = await context.storage.aggregate(first.source.table.physical.name, first.filter, strategy.aggregates)
      return resultsOfCells(aggregates, cells)
    }
    case 'heads':
      return (
        (await totalsOfIndexes(context.readIndexes(first.source.table, running.meter), strategy.candidates, aggregates)) ??
        (await totalsOfTable(context, plan, { ...running, aggregates }))
      )
    case 'column':
      return totalsOfColumn(context, plan, { ...running, aggregates, column: strategy.column })
    case 'totals':
      return steps.length === 0
        ? await totalsOfTable(context, plan, { ...running, aggregates })
        : await totalsOfJoin(joined(context, plan, running), aggregates, running)
    case 'page':
    case 'rows':
    case 'sorted':
    case 'groups':
      throw new VaultError('internal', 'Totals have a plan for rows. This is a defect; please report it.')
    default:
      return unreachable(strategy)
  }
}

/** Totals of one table: only the values of its aggregates are collected, slice by slice. */
async function totalsOfTable(
  context: Scanning,
  { first }: Plan,
  { meter, aggregates }: Pick<RunningTotals, 'meter' | 'aggregates'>,
): Promise<JsonValue[]> {
  // SUM and AVG of one column share its values. The record id is the column `undefined`.
  const columns = [...new Set(aggregates.flatMap(({ ref }) => (ref === undefined ? [] : [ref.column])))]
  const refs = columns.map((column): ColumnRef => ({ source: first.source.index, column }))
  const reader = createValueReader(createResidualFilter(context.barrier, first), refs)
  const parts = aggregates.map((output) => ({
    position: output.ref && columns.indexOf(output.ref.column),
    accumulator: createAccumulator(output, charging(meter)),
  }))
  const scan = new TableScan(context, { plan: first, meter }, reader)
  for (let batch = await scan.next(); batch !== undefined; batch = await scan.next()) {
    for (const { position, accumulator } of parts) {
      if (position === undefined) for (let row = 0; row < batch.length; row++) accumulator.add(true)
      else for (const value of at(batch.lists, position)) accumulator.add(value)
    }
  }
  return parts.map(({ accumulator }) => accumulator.result())
}

/** Cells of a column that are read at once: a few milliseconds on every engine. */
const COLUMN_PAGE = 4096

/** Totals of one plain column of one table. Storage returns its cells, and no rows. */
async function totalsOfColumn(
  { storage }: Scanning,
  { first }: Plan,
  { meter, aggregates, column }: Pick<RunningTotals, 'meter' | 'aggregates'> & { readonly column: Column },
): Promise<JsonValue[]> {
  const { physical, name } = first.source.table
  const parts = aggregates.map((output) => ({
    countsRows: output.ref === undefined,
    accumulator: createAccumulator(output, charging(meter)),
  }))
  let page: ScanPage<'column'> | undefined = { shape: 'column', column: required(column.plain), limit: COLUMN_PAGE }
  while (page !== undefined) {
    const { cells, next }: ColumnCells = await storage.scan(physical.name, first.filter, page)
    meter.addRowsRead(cells.length)
    const values = cells.map((cell) => (cell === null ? null : plainValue(column, cell, name)))
    for (const { countsRows, accumulator } of parts) {
      for (const value of values) accumulator.add(countsRows ? true : value)
    }
    page = next === undefined ? undefined : { ...page, after: next }
    if (page !== undefined) await meter.yield()
  }
  return parts.map(({ accumulator }) => accumulator.result())
}

async function totalsOfJoin(
  tuples: AsyncIterable<readonly Tuple[]>,
  aggregates: readonly AggregateOutput[],
  { meter, read }: Running,
): Promise<JsonValue[]> {
  const parts = aggregates.map((output) => ({ ref: output.ref, accumulator: createAccumulator(output, charging(meter)) }))
  for await (const batch of tuples) {
    for (const tuple of batch) {
      for (const { ref, accumulator } of parts) accumulator.add(ref === undefined ? true : read(tuple[ref.source], ref))
    }
  }
  return parts.map(({ accumulator }) => accumulator.result())
}

/** Yields the rows of FROM, joined step by step. */
function joined(context: Scanning, { first, steps }: Plan, { meter, read }: Running): AsyncIterable<readonly Tuple[]> {
  return steps.reduce<AsyncIterable<readonly Tuple[]>>(
    (left, step: StepPlan) => joinRows(context, left, { step, meter, read }),
    tuplesOf(scanRows(context, { plan: first, meter })),
  )
}

async function* tuplesOf(scan: TableScan<readonly BufferedRow[]>): AsyncGenerator<readonly Tuple[]> {
  for (let rows = await scan.next(); rows !== undefined; rows = await scan.next()) yield asTuples(rows)
}

function asTuples(rows: readonly BufferedRow[]): Tuple[] {
  return rows.map((row) => [row])
}
