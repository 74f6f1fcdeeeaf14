/** Measures one operation at several sizes in the same rounds: the points of one line in the growth chart. */
import { at } from '../../src/core/util/lists.ts'
import type { Entry, StorageName } from '../report/result-shape.ts'
import { compare } from './compare.ts'
import { measure, probed, type Timing, type Variant } from './harness.ts'

/** What a line shows. */
export interface GrowthPlan {
  /** The operation: the name of the line. */
  readonly series: string
  readonly storage: StorageName
  readonly timing: Timing
}

/** The operation at one size. */
export interface SizedVariant {
  readonly rows: number
  readonly variant: Variant
}

/** Returns one entry per size, each compared with the first. `sized` has at least one item and starts with the smallest. */
export async function measureGrowth({ series, storage, timing }: GrowthPlan, sized: readonly SizedVariant[]): Promise<Entry[]> {
  const measured = await measure(
    sized.map(({ variant }) => variant),
    timing,
  )
  const itself = { ...at(measured, 0), name: `itself at ${at(sized, 0).rows.toLocaleString('en')}` }
  const entries: Entry[] = []
  for (const [index, { rows, variant }] of sized.entries()) {
    const ours = await probed(variant, at(measured, index))
    entries.push({ ...compare({ benchmark: `growth: ${series}`, storage, rows }, ours, itself), series })
  }
  return entries
}
