/** What one run covers: sizes, rounds and storages, and what a bench is handed. */
import type { Entry, StorageName } from './entries.ts'
import type { Timing } from './harness.ts'
import type { PeopleSource } from './people.ts'
import type { Places } from './places.ts'

/** How much is done. */
export interface Scale {
  /** Rows present when inserts are measured, smallest first. */
  readonly sizes: Readonly<Record<'sqlite' | 'postgres', readonly number[]>>
  /** Rows present for everything else. */
  readonly rows: number
  readonly timing: Timing
  /** For what takes seconds a run: fewer rounds. */
  readonly slowTiming: Timing
  /** Batches of 1,000 in one timed run. */
  readonly batches: number
  /** Records each of the callers at once inserts in one timed run. */
  readonly insertsPerCaller: number
  /** Records read in one timed run, about. */
  readonly reads: number
}

export interface Scope {
  readonly scale: Scale
  readonly places: Places
  readonly people: PeopleSource
  has(storage: StorageName): boolean
}

/** One bench: what it can be asked for by, and how it is run. */
export interface Bench {
  readonly names: readonly string[]
  run(scope: Scope): Promise<readonly Entry[]>
}

/** Records in one batch, everywhere. */
export const BATCH = 1000

/** Rows present on a full run. Postgres stops earlier: filling its plaintext unique table to a million takes minutes. */
const FULL_SIZES = { sqlite: [100_000, 1_000_000], postgres: [100_000, 300_000] } as const
const SMOKE_ROWS = 2000

/** `rows` is the most rows any table is filled with. */
export function scaleOf({ smoke, rows }: { readonly smoke: boolean; readonly rows: number | undefined }): Scale {
  const most = rows ?? (smoke ? SMOKE_ROWS : Number.POSITIVE_INFINITY)
  const sizesUpTo = (sizes: readonly number[]) => [...new Set(sizes.map((size) => Math.min(size, most)))]
  const sizes = { sqlite: sizesUpTo(FULL_SIZES.sqlite), postgres: sizesUpTo(FULL_SIZES.postgres) }
  const present = Math.min(100_000, most)
  if (smoke) {
    const timing = { warmups: 1, rounds: 3 }
    return { sizes, rows: present, timing, slowTiming: timing, batches: 2, insertsPerCaller: 2, reads: 200 }
  }
  const timing = { warmups: 2, rounds: 9 }
  return { sizes, rows: present, timing, slowTiming: { warmups: 1, rounds: 3 }, batches: 8, insertsPerCaller: 8, reads: 10_000 }
}
