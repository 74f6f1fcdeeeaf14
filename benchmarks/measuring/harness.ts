/** Interleaved measuring: every variant runs in every round, and only rates of the same round are compared. */
import { at } from '../../src/core/util/at.ts'
import type { Entry, Subject } from '../report/result-shape.ts'

/** One thing to measure. */
export interface Variant {
  readonly name: string
  /** Untimed, before each run: prepares what a caller already has. */
  prepare?(): void | Promise<void>
  /** Timed. Returns the number of operations done. */
  run(): number | Promise<number>
}

export interface Timing {
  /** Rounds whose rates are discarded. */
  readonly warmups: number
  readonly rounds: number
  /** Milliseconds since a fixed moment. Default: the monotonic clock of the process. */
  readonly now?: () => number
}

/** Rates of one variant. */
export interface Measured {
  readonly name: string
  /** Operations per second, one per round. */
  readonly rates: readonly number[]
}

/** Measures the variants and returns their rates in the same order. Each round starts with the next variant, so none has a fixed predecessor. */
export async function measure(
  variants: readonly Variant[],
  { warmups, rounds, now = () => performance.now() }: Timing,
): Promise<Measured[]> {
  const measured = variants.map((variant) => ({ name: variant.name, variant, rates: [] as number[] }))
  for (let round = 0; round < warmups + rounds; round++) {
    for (const index of orderOf(measured.length, round)) {
      const { variant, rates } = at(measured, index)
      const rate = await rateOf(variant, now)
      if (round >= warmups) rates.push(rate)
    }
  }
  return measured.map(({ name, rates }): Measured => ({ name, rates }))
}

/** The vault and what it is compared with. */
export interface VariantPair {
  readonly ours: Variant
  readonly baseline: Variant
}

/** Measures two variants and returns the entry that compares them. */
export async function measurePair(subject: Subject, { ours, baseline }: VariantPair, timing: Timing): Promise<Entry> {
  const measured = await measure([ours, baseline], timing)
  return compare(subject, at(measured, 0), at(measured, 1))
}

/** Indexes of the variants in the order of one round: all of them, each round starting one further. */
export function orderOf(count: number, round: number): number[] {
  return Array.from({ length: count }, (_, index) => (index + round) % count)
}

async function rateOf(variant: Variant, now: () => number): Promise<number> {
  await variant.prepare?.()
  const begun = now()
  const running = variant.run()
  // A synchronous variant is not charged a turn of the event loop.
  const operations = typeof running === 'number' ? running : await running
  const milliseconds = now() - begun
  if (!(milliseconds > 0) || operations <= 0) throw new Error(`${variant.name} took no time or did nothing.`)
  return (operations * 1000) / milliseconds
}

/** Returns the middle value, or the mean of the two middle values. Throws if the list is empty. */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error('An empty list has no median.')
  const sorted = values.toSorted((left, right) => left - right)
  const half = sorted.length / 2
  return (at(sorted, Math.floor(half)) + at(sorted, Math.ceil(half) - 1)) / 2
}

/** Returns the median of the ratios within each round. Load from other processes slows both sides of a round alike. */
export function medianRatio(ours: Measured, baseline: Measured): number {
  if (ours.rates.length !== baseline.rates.length)
    throw new Error(`${ours.name} and ${baseline.name} were not measured together.`)
  return median(ours.rates.map((rate, round) => rate / at(baseline.rates, round)))
}

/** Returns the entry for rates of the same run. */
export function compare(subject: Subject, ours: Measured, baseline: Measured): Entry {
  return {
    ...subject,
    figure: median(ours.rates),
    baseline: baseline.name,
    baselineFigure: median(baseline.rates),
    ratio: medianRatio(ours, baseline),
  }
}

/** A size or a time, and what it is compared with. */
export interface Sizes {
  readonly figure: number
  readonly baseline: string
  readonly baselineFigure: number
  readonly unit: 'ms' | 'bytes/record' | 'MiB'
}

/** Returns the entry for a figure that must stay at or below `target` times the baseline. */
export function compareSizes(subject: Subject, { figure, baseline, baselineFigure, unit }: Sizes): Entry {
  return { ...subject, figure, baseline, baselineFigure, ratio: figure / baselineFigure, unit, lowerIsBetter: true }
}

/** Returns the longest time in milliseconds between two turns of a timer that is due every millisecond while `work` runs. */
export async function maxEventLoopDelay(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  let last = performance.now()
  const look = (): void => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
  }
  const timer = setInterval(look, 1)
  try {
    await work()
    look()
  } finally {
    clearInterval(timer)
  }
  return longest
}
