/** Runs a query plan: returns its rows or its aggregates. */
import { VaultError } from '../errors.ts'
import { answerOfCell, createAccumulator } from '../sql/aggregate.ts'
import type { Plan, StepPlan } from '../sql/plan.ts'
import type { AggregateOutput } from '../sql/query.ts'
import { at } from '../util/at.ts'
import { unreachable } from '../util/unreachable.ts'
import type { JsonValue } from '../values/column-type.ts'
import type { HeldRow, ReadHeld, Tuple } from './held-row.ts'
import { createReader } from './held-row.ts'
import { joinRows } from './join-rows.ts'
import type { Pace } from './pace.ts'
import type { ScanContext } from './scan-rows.ts'
import { scanRows } from './scan-rows.ts'
import { createSift } from './sift-rows.ts'

/**
 * The result of a plan: rows whose values are still to be redacted, or one value per aggregate. `answers` is undefined if LIMIT or OFFSET
 * leaves out the one record of aggregates.
 */
export type Result =
  | { readonly kind: 'rows'; readonly tuples: readonly Tuple[]; readonly read: ReadHeld }
  | { readonly kind: 'totals'; readonly answers: readonly JsonValue[] | undefined }

/** Runs a plan within its budget. Throws a `range` error if an aggregate overflows a double. */
export async function runPlan(context: ScanContext, plan: Plan, pace: Pace): Promise<Result> {
  const { outputs } = plan.query
  const read = createReader(plan)
  if (outputs.kind === 'rows') return { kind: 'rows', tuples: await resultRows(context, plan, { pace, read }), read }
  // Aggregates are one record: any OFFSET skips it, and LIMIT 0 leaves it out.
  if (plan.query.limit === 0 || plan.query.offset > 0) return { kind: 'totals', answers: undefined }
  return { kind: 'totals', answers: await totals(context, plan, { pace, read, aggregates: outputs.aggregates }) }
}

interface Running {
  readonly pace: Pace
  readonly read: ReadHeld
  /** Number of rows after which no more are needed. */
  readonly most?: number
}

async function resultRows(context: ScanContext, plan: Plan, running: Running): Promise<readonly Tuple[]> {
  const { query, first, way } = plan
  const { limit, offset } = query
  if (limit === 0) return []
  if (way.kind === 'page') {
    const { sift, columns } = createSift(context.barrier, first)
    const page = { order: 'up', skip: offset, limit, columns } as const
    const rows = await context.storage.find(first.source.table.physical.name, first.filter, page)
    return sift(rows, limit).map((row) => [row])
  }
  const found: Tuple[] = []
  let toSkip = offset
  for await (const tuples of stream(context, plan, { ...running, most: offset + limit })) {
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
  const { first, way } = plan
  switch (way.kind) {
    case 'aggregate': {
      const cells = await context.storage.measure(first.source.table.physical.name, first.filter, way.aggregates)
      return aggregates.map((output, index) => answerOfCell(output, at(cells, index)))
    }
    case 'totals':
      return await totalsOf(stream(context, plan, running), aggregates, running.read)
    case 'page':
    case 'rows':
      throw new VaultError('internal', 'Totals have a plan for rows. This is a defect; please report it.')
    default:
      return unreachable(way)
  }
}

async function totalsOf(
  tuples: AsyncIterable<readonly Tuple[]>,
  aggregates: readonly AggregateOutput[],
  read: ReadHeld,
): Promise<JsonValue[]> {
  const parts = aggregates.map((output) => ({ ref: output.ref, accumulator: createAccumulator(output) }))
  for await (const batch of tuples) {
    for (const tuple of batch) {
      for (const { ref, accumulator } of parts) accumulator.add(ref === undefined ? true : read(tuple[ref.source], ref))
    }
  }
  return parts.map(({ accumulator }) => accumulator.answer())
}

/** Yields the rows of FROM, joined step by step. */
function stream(context: ScanContext, plan: Plan, { pace, read, most }: Running): AsyncIterable<readonly Tuple[]> {
  const { first, steps } = plan
  const isAlone = steps.length === 0 && most !== undefined
  const rows = scanRows(context, { plan: first, pace, ...(isAlone ? { most } : {}) })
  return steps.reduce<AsyncIterable<readonly Tuple[]>>(
    (left, step: StepPlan) => joinRows(context, left, { step, pace, read }),
    asTuples(rows),
  )
}

async function* asTuples(batches: AsyncIterable<readonly HeldRow[]>): AsyncGenerator<readonly Tuple[]> {
  for await (const batch of batches) yield batch.map((row) => [row])
}
