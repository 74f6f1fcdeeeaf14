/** The longest hold of the event loop among all operations of a run. */
import { limitHold } from '../measuring/compare.ts'
import type { Entry } from '../report/result-shape.ts'

/**
 * Returns the entry of the operation that held the event loop longest by the clock, and no entry if no hold was measured. It is no target: the longest
 * is a checkpoint of SQLite, which waits for the disk. The delay during scans has a target of its own.
 */
export function longestHoldOf(entries: readonly Entry[]): Entry[] {
  const held = entries.flatMap(({ benchmark, storage, hold }) => (hold === undefined ? [] : [{ benchmark, storage, hold }]))
  if (held.length === 0) return []
  const longest = held.reduce((most, one) => (one.hold.wall > most.hold.wall ? one : most))
  const subject = { benchmark: 'longest hold of the event loop', storage: 'none', rows: 0 } as const
  return [limitHold(subject, longest.hold, { note: `: ${longest.benchmark}, ${longest.storage}`, isReported: true })]
}
