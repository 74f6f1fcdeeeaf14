/** Measures a vault and its baseline at several table sizes, all in the same rounds. */
import { at } from '../../src/core/util/lists.ts'
import type { Entry, Subject } from '../report/result-shape.ts'
import { compare, type Measured } from './compare.ts'
import { measure, probed, type Timing, type VariantPair } from './harness.ts'

/** A vault and its baseline at one size. */
export interface SizedPair extends VariantPair {
  readonly rows: number
}

export interface SizesPlan {
  readonly subject: Omit<Subject, 'rows'>
  /** Compares the largest size with the smallest. `target` is the minimum ratio. If absent, growth is not reported. */
  readonly growth?: { readonly benchmark: string; readonly target: number }
  readonly timing: Timing
}

/** Returns one entry per size, in the order given, and one for growth if there are several sizes. `pairs` start with the smallest. */
export async function measureSizes({ subject, growth, timing }: SizesPlan, pairs: readonly SizedPair[]): Promise<Entry[]> {
  const measured = await measure(
    pairs.flatMap(({ ours, baseline }) => [ours, baseline]),
    timing,
  )
  const timed: (TimedStore & { readonly baseline: Measured })[] = []
  for (const [index, { rows, ours }] of pairs.entries()) {
    timed.push({ rows, ours: await probed(ours, at(measured, 2 * index)), baseline: at(measured, 2 * index + 1) })
  }
  const entries = timed.map(({ rows, ours, baseline }) => compare({ ...subject, rows }, ours, baseline))
  if (growth === undefined || timed.length < 2) return entries
  return [...entries, compareGrowth({ ...subject, ...growth }, at(timed, 0), at(timed, timed.length - 1))]
}

interface TimedStore {
  readonly rows: number
  readonly ours: Measured
}

function compareGrowth(subject: Omit<Subject, 'rows'>, small: TimedStore, large: TimedStore): Entry {
  const itself = { ...small.ours, name: `itself at ${small.rows.toLocaleString('en')} rows` }
  return compare({ ...subject, rows: large.rows }, large.ours, itself)
}
