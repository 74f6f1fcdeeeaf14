/** Interleaved measuring: every variant runs in every round, and only rates of the same round are compared. */
import { at } from '../../src/core/util/lists.ts'
import type { Entry, Subject } from '../report/result-shape.ts'
import { compare, type Measured } from './compare.ts'
import { type Hold, longestHold } from './event-loop-watch.ts'

/** One thing to measure. */
export interface Variant {
  readonly name: string
  /** Untimed, before each run: prepares what a caller already has. */
  prepare?(): void | Promise<void>
  /** Timed. Returns the number of operations done. */
  run(): number | Promise<number>
  /** Microseconds of CPU of the last run that another thread spent on sending the requests. Default 0. */
  senderCpu?(): number
  /**
   * Untimed: makes some of the calls of `run`, with a turn of the event loop after each, so that a hold is that of one call. If absent, a
   * run is one operation, and is its own probe.
   */
  probe?(): Promise<void>
}

/** The clocks of a measurement. */
export interface Clocks {
  /** Milliseconds since a fixed moment. */
  now(): number
  /** Microseconds of CPU that the process used, in all threads. */
  cpu(): number
}

export interface Timing {
  /** Rounds whose rates are discarded. */
  readonly warmups: number
  /** Milliseconds that each variant runs at least in discarded rounds, however many that takes. Default 0. */
  readonly warmupTime?: number
  readonly rounds: number
  /** Default: the clocks of the process. */
  readonly clocks?: Clocks
}

const PROCESS_CLOCKS: Clocks = {
  now: () => performance.now(),
  cpu() {
    const { user, system } = process.cpuUsage()
    return user + system
  },
}

/** Measures the variants and returns their rates in the same order. Each round starts with the next variant, so none has a fixed predecessor. */
export async function measure(
  variants: readonly Variant[],
  { warmups, warmupTime = 0, rounds, clocks = PROCESS_CLOCKS }: Timing,
): Promise<Measured[]> {
  const measured = variants.map((variant) => ({ variant, runs: [] as Run[], warm: 0 }))
  let round = 0
  const inOrder = () => orderOf(measured.length, round++).map((index) => at(measured, index))
  while (round < warmups || measured.some(({ warm }) => warm < warmupTime)) {
    // A variant that is warm does not wait for one whose runs are a hundred times shorter.
    const isExtra = round >= warmups
    for (const own of inOrder()) {
      if (!isExtra || own.warm < warmupTime) own.warm += (await timed(own.variant, clocks)).milliseconds
    }
  }
  for (let left = rounds; left > 0; left--) {
    for (const own of inOrder()) own.runs.push(await timed(own.variant, clocks))
  }
  return measured.map(
    ({ variant: { name }, runs }): Measured => ({
      name,
      rates: runs.map(({ rate }) => rate),
      cpu: runs.map(({ cpu }) => cpu),
      holds: [],
    }),
  )
}

/** The vault and what it is compared with. */
export interface VariantPair {
  readonly ours: Variant
  readonly baseline: Variant
}

/** Measures two variants and returns the entry that compares them. */
export async function measurePair(subject: Subject, { ours, baseline }: VariantPair, timing: Timing): Promise<Entry> {
  const measured = await measure([ours, baseline], timing)
  return compare(subject, await probed(ours, at(measured, 0)), at(measured, 1))
}

/** Rounds of a probe. */
const PROBES = 3

/** Adds the longest holds. The first probe is discarded: the garbage that the baseline left is collected in it. */
export async function probed(variant: Variant, measured: Measured): Promise<Measured> {
  const holds: Hold[] = []
  for (let round = 0; round <= PROBES; round++) {
    await variant.prepare?.()
    const hold = await longestHold(() => (variant.probe === undefined ? variant.run() : variant.probe()))
    if (round > 0) holds.push(hold)
  }
  return { ...measured, holds }
}

/** Indexes of the variants in the order of one round: all of them, each round starting one further. */
export function orderOf(count: number, round: number): number[] {
  return Array.from({ length: count }, (_, index) => (index + round) % count)
}

/** One timed run. */
interface Run {
  readonly milliseconds: number
  readonly rate: number
  readonly cpu: number
}

async function timed(variant: Variant, clocks: Clocks): Promise<Run> {
  await variant.prepare?.()
  const [begun, cpuBegun] = [clocks.now(), clocks.cpu()]
  const running = variant.run()
  // A synchronous variant is not charged a turn of the event loop.
  const operations = typeof running === 'number' ? running : await running
  const [milliseconds, microseconds] = [clocks.now() - begun, clocks.cpu() - cpuBegun]
  if (!(milliseconds > 0) || operations <= 0) throw new Error(`${variant.name} took no time or did nothing.`)
  // The clock of the CPU counts whole microseconds.
  const own = Math.max(1, microseconds - (variant.senderCpu?.() ?? 0))
  return { milliseconds, rate: (operations * 1000) / milliseconds, cpu: own / operations }
}
