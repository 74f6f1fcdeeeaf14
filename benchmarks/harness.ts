/** Interleaved measuring: every variant runs in every round, in turns, and only ratios within a round are compared. */
import type { Entry, Subject } from './entries.ts'

/** One thing to measure. */
export interface Variant {
  readonly name: string
  /** Untimed, before each run: what a caller would have in hand already. */
  prepare?(): void | Promise<void>
  /** Timed. Answers how many operations it did. */
  run(): number | Promise<number>
}

export interface Timing {
  /** Rounds thrown away. */
  readonly warmups: number
  readonly rounds: number
  /** Milliseconds since some moment; the process's own clock unless given. */
  readonly now?: () => number
}

/** Operations a second of one variant, round by round. */
export interface Measured {
  readonly name: string
  readonly rates: readonly number[]
}

/** Measures variants in the order given; each round begins with another one, so that none always follows the same. */
export async function measure<const V extends readonly Variant[]>(
  variants: V,
  { warmups, rounds, now = () => performance.now() }: Timing,
): Promise<{ [K in keyof V]: Measured }> {
  const rates: number[][] = variants.map(() => [])
  for (let round = 0; round < warmups + rounds; round++) {
    for (const index of turnsOf(variants.length, round)) {
      const rate = await rateOf(variants[index], now)
      if (round >= warmups) rates[index]?.push(rate)
    }
  }
  const measured = variants.map(({ name }, index) => ({ name, rates: rates[index] ?? [] }))
  // A list made from `variants` has its length; the compiler forgets it in `map`.
  return measured as unknown as { [K in keyof V]: Measured }
}

/** The order of one round: all of them, beginning one further each time. */
export function turnsOf(count: number, round: number): number[] {
  return Array.from({ length: count }, (_, index) => (index + round) % count)
}

async function rateOf(variant: Variant | undefined, now: () => number): Promise<number> {
  if (variant === undefined) throw new Error('a turn was given to no variant')
  await variant.prepare?.()
  const begun = now()
  const answer = variant.run()
  // A variant that does not wait is not charged a turn of the event loop.
  const operations = typeof answer === 'number' ? answer : await answer
  const milliseconds = now() - begun
  if (!(milliseconds > 0) || operations <= 0) throw new Error(`${variant.name} did nothing that could be timed`)
  return (operations * 1000) / milliseconds
}

/** The middle value, or the mean of the two in the middle. Throws for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right)
  const half = sorted.length / 2
  const upper = sorted[Math.floor(half)]
  const lower = sorted[Math.ceil(half) - 1]
  if (upper === undefined || lower === undefined) throw new Error('there is no median of nothing')
  return (upper + lower) / 2
}

/** Median of the ratios within each round: what a neighbour's load does to a round it does to both sides. */
export function medianRatio(ours: Measured, floor: Measured): number {
  if (ours.rates.length !== floor.rates.length) throw new Error(`${ours.name} and ${floor.name} were not measured together`)
  return median(ours.rates.map((rate, round) => rate / (floor.rates[round] ?? Number.NaN)))
}

/** The entry for ours against a floor of the same run. */
export function compare(subject: Subject, ours: Measured, floor: Measured): Entry {
  return {
    ...subject,
    medianOpsPerSecond: median(ours.rates),
    floor: floor.name,
    floorOpsPerSecond: median(floor.rates),
    ratio: medianRatio(ours, floor),
  }
}

/** The entry for a figure that must stay at or below `target` times another. */
export function compareSizes(
  subject: Subject,
  figures: { readonly ours: number; readonly floor: string; readonly floorFigure: number; readonly unit: 'ms' | 'bytes/record' },
): Entry {
  const { ours, floor, floorFigure, unit } = figures
  return {
    ...subject,
    medianOpsPerSecond: ours,
    floor,
    floorOpsPerSecond: floorFigure,
    ratio: ours / floorFigure,
    unit,
    lowerIsBetter: true,
  }
}

/** The longest time, in milliseconds, between two turns of a timer that is due every millisecond while work goes on. */
export async function longestGap(work: () => Promise<unknown>): Promise<number> {
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
