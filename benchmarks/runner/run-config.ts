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
  readonly timing: Timing
  /** Fewer rounds, for runs that take seconds each. */
  readonly slowTiming: Timing
  /** Batches of `BATCH` records in one timed run. */
  readonly batches: number
  /** Records that each concurrent caller inserts in one timed run. */
  readonly insertsPerCaller: number
  /** Length of a blob that is written and read, in MiB. */
  readonly blobMebibytes: number
  /** Records read in one timed run, approximately. */
  readonly reads: number
}

export interface RunConfig {
  readonly scale: Scale
  readonly environments: Environments
  readonly people: PeopleSource
}

/** Measures on one storage. Returns one entry per comparison. */
export type Measurement = (config: RunConfig) => Promise<readonly Entry[]>

/** One benchmark: the names that `--only` accepts for it, and what it measures on each storage. */
export interface Benchmark {
  readonly names: readonly string[]
  readonly storages: Readonly<Partial<Record<StorageName, Measurement>>>
}

/** Records in one batch, in every benchmark. */
export const BATCH = 1000

/** Rows present in a full run. Postgres has fewer: filling its plaintext unique table to a million rows takes minutes. */
const FULL_SIZES = { sqlite: [100_000, 1_000_000], postgres: [100_000, 300_000] } as const
const FULL_ROWS = 100_000
const SMOKE_ROWS = 2000
const FULL_MEBIBYTES = 256
const SMOKE_MEBIBYTES = 16

/** Returns the scale of a run. `rows` is the maximum number of rows in any table. */
export function scaleOf({
  smoke,
  rows,
  mebibytes,
}: {
  readonly smoke: boolean
  readonly rows: number | undefined
  readonly mebibytes: number | undefined
}): Scale {
  const max = rows ?? (smoke ? SMOKE_ROWS : Number.POSITIVE_INFINITY)
  const capped = (sizes: readonly number[]) => [...new Set(sizes.map((size) => Math.min(size, max)))]
  const sizes = { sqlite: capped(FULL_SIZES.sqlite), postgres: capped(FULL_SIZES.postgres) }
  const present = Math.min(FULL_ROWS, max)
  if (smoke) {
    const timing = { warmups: 1, rounds: 3 }
    const blobMebibytes = mebibytes ?? SMOKE_MEBIBYTES
    return { sizes, rows: present, timing, slowTiming: timing, batches: 2, insertsPerCaller: 2, blobMebibytes, reads: 200 }
  }
  const timing = { warmups: 2, rounds: 9 }
  const slowTiming = { warmups: 1, rounds: 3 }
  const blobMebibytes = mebibytes ?? FULL_MEBIBYTES
  return { sizes, rows: present, timing, slowTiming, batches: 8, insertsPerCaller: 8, blobMebibytes, reads: 10_000 }
}
