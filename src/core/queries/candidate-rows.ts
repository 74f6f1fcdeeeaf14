/** Chooses how the rows of a source are found: by a sealed index, or by reading all that storage returns. Both find the same rows. */
import { EVERY_KEY } from '../index-runs/key-ranges.ts'
import type { IndexReader } from '../sealed-index/read-index.ts'
import type { Candidates } from '../sql/candidates.ts'

/** Microseconds that reading and opening one row takes: in a scan, and by its id. */
const SCANNED_ROW = 2.2
const FOUND_ROW = 4
/** Microseconds that one entry of an index takes, and those that any use of it does. */
const ENTRY = 0.2
const ANY_USE = 1000

/** Returns the ids, rising, of rows among which are all that the conditions are true of; undefined if a scan costs less. `wanted` rows end the reading. */
export async function candidateRows(
  indexes: IndexReader,
  candidates: readonly Candidates[],
  wanted: number,
): Promise<Float64Array | undefined> {
  let best: { readonly one: Candidates; readonly most: number } | undefined
  for (const one of candidates) {
    const { most } = await indexes.estimate(one.index.objectId, one.ranges)
    if (best === undefined || most < best.most) best = { one, most }
  }
  if (best === undefined) return undefined
  const { one, most } = best
  const rows = (await indexes.estimate(one.index.objectId, EVERY_KEY)).most
  const scanned = Math.min(rows, (wanted * rows) / Math.max(most, 1)) * SCANNED_ROW
  if (ANY_USE + most * ENTRY + Math.min(most, wanted) * FOUND_ROW > scanned) return undefined
  return indexes.candidates(one.index.objectId, one.ranges)
}
