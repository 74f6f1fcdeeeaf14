/** Times inserts of 1,000 a batch at every size, ours and the floor's in turns: shared by the two benches that insert. */
import type { Entry, StorageName } from '../entries.ts'
import { compare, type Measured, measure, type Variant } from '../harness.ts'
import type { Batch } from '../people.ts'
import { BATCH, type Scope } from '../scope.ts'

/** A store with rows in it, ready to be inserted into. */
export interface FilledStore {
  readonly name: string
  insert(batch: Batch): unknown
  close(): unknown
}

/** Ours and a floor, both filled with as many rows. */
export interface FilledPair {
  readonly rows: number
  readonly ours: FilledStore
  readonly floor: FilledStore
}

export interface InsertPlan {
  readonly bench: string
  readonly storage: StorageName
  readonly target: number
  /** Least rate at the largest size by the rate at the smallest; left out, growth is not reported. */
  readonly growthTarget?: number
  next(count: number): Batch
  fillPair(rows: number): Promise<FilledPair>
}

/** One entry for each size and, where asked for, one for growth. */
export async function measureInserts({ scale }: Scope, plan: InsertPlan, sizes: readonly number[]): Promise<Entry[]> {
  const pairs: FilledPair[] = []
  for (const rows of sizes) pairs.push(await plan.fillPair(rows))
  try {
    const variants = pairs.flatMap(({ ours, floor }) => [ours, floor].map((store) => insertVariant(store, plan, scale.batches)))
    const measured = await measure(variants, scale.timing)
    const timed = pairs.map(({ rows }, index) => ({ rows, ours: at(measured, 2 * index), floor: at(measured, 2 * index + 1) }))
    const entries = timed.map(({ rows, ours, floor }) =>
      compare({ bench: plan.bench, storage: plan.storage, rows, target: plan.target }, ours, floor),
    )
    return [...entries, ...growthOf(plan, timed)]
  } finally {
    for (const { ours, floor } of pairs) {
      await ours.close()
      await floor.close()
    }
  }
}

interface TimedPair {
  readonly rows: number
  readonly ours: Measured
}

function growthOf({ growthTarget, storage }: InsertPlan, timed: readonly TimedPair[]): Entry[] {
  const [small, large] = [timed[0], timed.at(-1)]
  if (growthTarget === undefined || small === undefined || large === undefined || small === large) return []
  const floor = { name: `itself at ${small.rows.toLocaleString('en')} rows`, rates: small.ours.rates }
  return [compare({ bench: 'growth of insert', storage, rows: large.rows, target: growthTarget }, large.ours, floor)]
}

function insertVariant(store: FilledStore, plan: InsertPlan, batches: number): Variant {
  let inHand: Batch[] = []
  return {
    name: store.name,
    prepare() {
      inHand = Array.from({ length: batches }, () => plan.next(BATCH))
    },
    async run() {
      for (const batch of inHand) await store.insert(batch)
      return inHand.length * BATCH
    },
  }
}

function at(measured: readonly Measured[], index: number): Measured {
  const one = measured[index]
  if (one === undefined) throw new Error('a variant was not measured')
  return one
}
