/** Chooses how the rows of a source are found: by a sealed index, or by reading all that storage returns. Both find the same rows. */
import { EVERY_KEY } from '../index-runs/key-ranges.ts'
import type { IndexReader } from '../sealed-index/read-index.ts'
import type { Candidates } from '../sql/candidates.ts'

/** Microseconds that reading and opening one row takes: in a scan, and by its id. Source: docs/inside/indexes.md. */
const SCANNED_ROW = 2.2
const FOUND_ROW = 4
/** Microseconds that one entry of an index takes, and those that any use of an index does. */
const ENTRY = 0.2
const ANY_USE = 1000
/** The part of texts that are taken to match a pattern, of which nothing else is known. */
const MATCHING = 0.05

/** Returns the ids, rising, of rows among which are all that the conditions are true of; undefined if a scan costs less. `wanted` rows end the reading. */
export async function candidateRows(
  indexes: IndexReader,
  candidates: readonly Candidates[],
  wanted: number,
): Promise<Float64Array | undefined> {
  let best: { readonly one: Candidates; readonly entries: number; readonly rows: number } | undefined
  for (const one of candidates) {
    const { most: entries } = await indexes.estimate(one.index.objectId, one.ranges)
    const rows = one.tests.length > 0 && !one.isExact ? entries * MATCHING : entries
    if (best === undefined || costOf(entries, rows, wanted) < costOf(best.entries, best.rows, wanted))
      best = { one, entries, rows }
  }
  if (best === undefined) return undefined
  const { index, ranges, tests } = best.one
  const all = (await indexes.estimate(index.objectId, EVERY_KEY)).most
  const scanned = Math.min(all, (wanted * all) / Math.max(best.rows, 1))
  if (costOf(best.entries, best.rows, wanted) > scanned * SCANNED_ROW) return undefined
  return indexes.candidates(index.objectId, ranges, tests)
}

/** Returns the microseconds that so many entries take, and reading those of their rows that are wanted. */
function costOf(entries: number, rows: number, wanted: number): number {
  return ANY_USE + entries * ENTRY + Math.min(rows, wanted) * FOUND_ROW
}
