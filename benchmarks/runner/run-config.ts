/** What one run covers: row counts, rounds, and what every benchmark receives. */
import type { PeopleSource } from '../fixtures/people.ts'
import type { Timing } from '../measuring/harness.ts'
import type { Entry, StorageName } from '../report/result-shape.ts'
import type { Environments } from './environments.ts'

/** How much work a run does. */
export interface Scale {
  /** Rows present when inserts and queries by `=` are measured, smallest first. */
  readonly sizes: Readonly<Record<'sqlite' | 'postgres', readonly number[]>>
  /** Rows present for everything else. */
  readonly rows: number
  /** Events of the trails that are listed and verified, smallest first. */
  readonly events: readonly number[]
  /** Events of the trail of fat events. */
  readonly fatEvents: number
  /** Rows and events of the growth chart, smallest first. */
  readonly growth: readonly number[]
  readonly timing: Timing
  /** The same for short calls that leave nothing behind: long enough before the measured rounds that V8 has compiled them for good. */
  readonly callTiming: Timing
  /** Fewer rounds, for runs that take seconds each. */
  readonly slowTiming: Timing
  /** Batches of `BATCH` records in one timed run. */
  readonly batches: number
  /** Records that each concurrent caller inserts in one timed run. */
  readonly insertsPerCaller: number
  /** Commits in one timed run, approximately. Each waits for the disk. */
  readonly commits: number
  /** Length of a blob that is written and read, in MiB. */
  readonly blobMebibytes: number
  /** Records read in one timed run, approximately. */
  readonly reads: number
  /** Milliseconds of one timed load of requests. */
  readonly loadTime: number
  /** Numbers of processes that serve requests. */
  readonly workers: readonly number[]
}

export interface RunConfig {
  readonly scale: Scale
  readonly environments: Environments
  readonly people: PeopleSource
}

/** Measures on one storage. Returns one entry per comparison. */
export type Measurement = (config: RunConfig) => Promise<readonly Entry[]>

type Measurements = Readonly<Partial<Record<StorageName, Measurement>>>

/** One benchmark: the names that `--only` accepts for it, and what it measures on each storage. */
export interface Benchmark {
  readonly names: readonly [string, ...string[]]
  readonly storages: Measurements
  /** What a quick run measures instead. If absent, nothing. */
  readonly quick?: Measurements
}

/** Records in one batch, in every benchmark. */
export const BATCH = 1000

/** A full run. Postgres has fewer rows: filling its plaintext unique table to a million rows takes minutes. */
const FULL: Scale = {
  sizes: { sqlite: [100_000, 1_000_000], postgres: [100_000, 300_000] },
  rows: 100_000,
  events: [100_000, 1_000_000],
  fatEvents: 1000,
  growth: [10_000, 100_000, 1_000_000],
  timing: { warmups: 2, rounds: 9 },
  callTiming: { warmups: 2, warmupTime: 2000, rounds: 9 },
  slowTiming: { warmups: 1, warmupTime: 2000, rounds: 3 },
  batches: 8,
  insertsPerCaller: 8,
  commits: 100,
  blobMebibytes: 256,
  reads: 10_000,
  loadTime: 1000,
  workers: [1, 2],
}

/** A quick run: full sizes where a target names the size. */
const QUICK: Scale = {
  ...FULL,
  sizes: { sqlite: [100_000], postgres: [50_000] },
  rows: 20_000,
  events: [100_000],
  fatEvents: 150,
  timing: { warmups: 1, rounds: 5 },
  callTiming: { warmups: 1, warmupTime: 700, rounds: 5 },
  // The median leaves out the first round, which is cold.
  slowTiming: { warmups: 0, rounds: 3 },
  batches: 4,
  reads: 5000,
}

/** A smoke run: the least of everything. */
const SMOKE: Scale = {
  ...FULL,
  timing: { warmups: 1, rounds: 2 },
  callTiming: { warmups: 1, rounds: 2 },
  slowTiming: { warmups: 0, rounds: 1 },
  commits: 20,
  fatEvents: 20,
  growth: [200, 2000],
  batches: 2,
  insertsPerCaller: 2,
  blobMebibytes: 16,
  reads: 200,
  loadTime: 60,
  workers: [1],
}

const SMOKE_ROWS = 2000
/** Each size of the growth chart is so many times the one before. */
const GROWTH_STEP = 10

/** Returns the scale of a run. `rows` is the maximum number of rows in any table, and of events in any trail. */
export function scaleOf({
  smoke,
  quick,
  rows,
  mebibytes,
}: {
  readonly smoke: boolean
  readonly quick: boolean
  readonly rows: number | undefined
  readonly mebibytes: number | undefined
}): Scale {
  const scale = smoke ? SMOKE : quick ? QUICK : FULL
  const max = rows ?? (smoke ? SMOKE_ROWS : Number.POSITIVE_INFINITY)
  const capped = (sizes: readonly number[]) => [...new Set(sizes.map((size) => Math.min(size, max)))]
  const largest = Math.min(max, ...scale.growth.slice(-1))
  return {
    ...scale,
    sizes: { sqlite: capped(scale.sizes.sqlite), postgres: capped(scale.sizes.postgres) },
    rows: Math.min(scale.rows, max),
    events: capped(scale.events),
    growth: scale.growth.map((_, index) => Math.ceil(largest / GROWTH_STEP ** (scale.growth.length - 1 - index))),
    blobMebibytes: mebibytes ?? scale.blobMebibytes,
  }
}
