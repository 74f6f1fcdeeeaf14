/** Runs a query plan: returns its rows or its aggregates. */
import { VaultError } from '../errors.ts'
import { createAccumulator, resultOfCell } from '../sql/aggregate.ts'
import type { Plan, StepPlan } from '../sql/plan.ts'
import type { AggregateOutput } from '../sql/query.ts'
import { at } from '../util/at.ts'
import { unreachable } from '../util/unreachable.ts'
import type { JsonValue } from '../values/column-type.ts'
import type { BudgetMeter } from './budget-meter.ts'
import type { BufferedRow, ReadBuffered, Tuple } from './buffered-row.ts'
import { createReader } from './buffered-row.ts'
import { joinRows } from './join-rows.ts'
import { createResidualFilter } from './residual-filter.ts'
import type { ScanContext } from './scan-rows.ts'
import { scanRows } from './scan-rows.ts'

/**
 * The result of a plan: rows whose values are still to be redacted, or one value per aggregate. `values` is undefined if LIMIT or OFFSET
 * leaves out the one record of aggregates.
 */
export type PlanResult =
  | { readonly kind: 'rows'; readonly tuples: readonly Tuple[]; readonly read: ReadBuffered }
  | { readonly kind: 'totals'; readonly values: readonly JsonValue[] | undefined }

/** Runs a plan within its budget. Throws a `range` error if an aggregate overflows a double. */
export async function runPlan(context: ScanContext, plan: Plan, meter: BudgetMeter): Promise<PlanResult> {
  const { outputs } = plan.query
  const read = createReader(plan)
  if (outputs.kind === 'rows') return { kind: 'rows', tuples: await resultRows(context, plan, { meter, read }), read }
  // Aggregates are one record: any OFFSET skips it, and LIMIT 0 leaves it out.
  if (plan.query.limit === 0 || plan.query.offset > 0) return { kind: 'totals', values: undefined }
  return { kind: 'totals', values: await totals(context, plan, { meter, read, aggregates: outputs.aggregates }) }
}

interface Running {
  readonly meter: BudgetMeter
  readonly read: ReadBuffered
  /** Number of rows after which no more are needed. */
  readonly limit?: number
}

async function resultRows(context: ScanContext, plan: Plan, running: Running): Promise<readonly Tuple[]> {
  const { query, first, strategy } = plan
  const { limit, offset } = query
  if (limit === 0) return []
  if (strategy.kind === 'page') {
    const { apply, columns } = createResidualFilter(context.barrier, first)
    const page = { order: 'asc', offset, limit, columns } as const
    const rows = await context.storage.find(first.source.table.physical.name, first.filter, page)
    return apply(rows, limit).map((row) => [row])
  }
  const found: Tuple[] = []
  let toSkip = offset
  for await (const tuples of stream(context, plan, { ...running, limit: offset + limit })) {
    const skipped = Math.min(toSkip, tuples.length)
    toSkip -= skipped
    found.push(...tuples.slice(skipped, skipped + limit - found.length))
    if (found.length === limit) break
  }
  return found
}

async function totals(
  context: ScanContext,
  plan: Plan,
  { aggregates, ...running }: Running & { readonly aggregates: readonly AggregateOutput[] },
): Promise<JsonValue[]> {
  const { first, strategy } = plan
  switch (strategy.kind) {
    case 'aggregate': {
      const cells = await context.storage.aggregate(first.source.table.physical.name, first.filter, strategy.aggregates)
      return aggregates.map((output, index) => resultOfCell(output, at(cells, index)))
    }
    case 'totals':
      return await totalsOf(stream(context, plan, running), aggregates, running.read)
    case 'page':
    case 'rows':
      throw new VaultError('internal', 'Totals have a plan for rows. This is a defect; please report it.')
    default:
      return unreachable(strategy)
  }
}

async function totalsOf(
  tuples: AsyncIterable<readonly Tuple[]>,
  aggregates: readonly AggregateOutput[],
  read: ReadBuffered,
): Promise<JsonValue[]> {
  const parts = aggregates.map((output) => ({ ref: output.ref, accumulator: createAccumulator(output) }))
  for await (const batch of tuples) {
    for (const tuple of batch) {
      for (const { ref, accumulator } of parts) accumulator.add(ref === undefined ? true : read(tuple[ref.source], ref))
    }
  }
  return parts.map(({ accumulator }) => accumulator.result())
}

/** Yields the rows of FROM, joined step by step. */
function stream(context: ScanContext, plan: Plan, { meter, read, limit: max }: Running): AsyncIterable<readonly Tuple[]> {
  const { first, steps } = plan
  const isAlone = steps.length === 0 && max !== undefined
  const rows = scanRows(context, { plan: first, meter, ...(isAlone ? { limit: max } : {}) })
  return steps.reduce<AsyncIterable<readonly Tuple[]>>(
    (left, step: StepPlan) => joinRows(context, left, { step, meter, read }),
    asTuples(rows),
  )
}

async function* asTuples(batches: AsyncIterable<readonly BufferedRow[]>): AsyncGenerator<readonly Tuple[]> {
  for await (const batch of batches) yield batch.map((row) => [row])
}
