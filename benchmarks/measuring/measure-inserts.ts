/** Measures inserts of 1,000 records per batch at every size, and how the rate changes as the table grows. */
import type { Batch } from '../fixtures/people.ts'
import type { Entry } from '../report/result-shape.ts'
import { BATCH, type Scale } from '../runner/run-config.ts'
import type { Variant } from './harness.ts'
import { measureSizes, type SizesPlan } from './measure-sizes.ts'
import { sequentialCalls } from './sequential-calls.ts'

/** A store with rows in it. */
export interface FilledStore {
  readonly name: string
  insert(batch: Batch): unknown
  close(): unknown
}

/** A vault and a baseline, filled with the same number of rows. */
export interface FilledPair {
  readonly ours: FilledStore
  readonly baseline: FilledStore
}

export interface InsertPlan extends SizesPlan {
  /** Rows present when inserts are measured, smallest first. */
  readonly sizes: readonly number[]
  readonly batches: number
  /** Makes the next records to insert. */
  next(count: number): Batch
  fillPair(rows: number): Promise<FilledPair>
}

/** Returns one entry per size, and one for growth if the plan asks for it. Closes the stores. */
export async function measureInserts(plan: InsertPlan): Promise<Entry[]> {
  const filled: (FilledPair & { readonly rows: number })[] = []
  try {
    for (const rows of plan.sizes) filled.push({ rows, ...(await plan.fillPair(rows)) })
    const pairs = filled.map(({ rows, ours, baseline }) => ({
      rows,
      ours: insertBatches(ours, plan),
      baseline: insertBatches(baseline, plan),
    }))
    return await measureSizes(plan, pairs)
  } finally {
    for (const { ours, baseline } of filled) {
      await ours.close()
      await baseline.close()
    }
  }
}

/** Returns a variant that inserts batches of `BATCH` new records, one call per batch. */
export function insertBatches(
  { name, insert }: Omit<FilledStore, 'close'>,
  { batches, next }: Pick<InsertPlan, 'next'> & Pick<Scale, 'batches'>,
): Variant {
  return sequentialCalls({
    name,
    prepareItems: () => Array.from({ length: batches }, () => next(BATCH)),
    call: insert,
    operationsPerCall: BATCH,
  })
}
