/** Positions to read, and the check that a vault and its baseline read the same values. */
import type { RunConfig } from '../runner/run-config.ts'

/** Maximum calls in one timed run. On Postgres each waits for the network. */
const MAX_CALLS = 2000

/** Returns lists of `length` random positions below `count`, as many lists as one timed run reads. */
export function randomPositions({ scale, people }: RunConfig, count: number, length: number): number[][] {
  const lists = Math.min(MAX_CALLS, Math.max(1, Math.ceil(scale.reads / length)))
  return Array.from({ length: lists }, () => Array.from({ length }, () => people.below(count)))
}

/** Throws unless both sides read the same values. Otherwise the figures would compare different work. */
export function assertSame(ours: unknown, baseline: unknown): void {
  if (JSON.stringify(ours) !== JSON.stringify(baseline)) throw new Error('The vault and the baseline returned different values.')
}
