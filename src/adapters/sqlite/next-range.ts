/** Finds where a scan by ranges of ids goes on: gaps in the ids are skipped. */
import type { ColumnPage, Filter } from '../../core/ports/storage.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import { findRows } from './read-rows.ts'
import { EVERY, endsBefore, type OnSnapshot, sliceOf } from './sliced-scans.ts'

/** A range of ids, and the filter of the rows in it. */
export interface IdRange {
  readonly high: number
  readonly filter: Filter
}

/** In place of a range: the next id is one that no row can have, because it was changed in the database. */
export const DAMAGED_ID = 'damaged id'

/** The next `limit` ids, from the first that a row has; undefined if no row that the filter allows follows. */
export async function nextRange(
  read: OnSnapshot,
  { shape, filter }: { readonly shape: TableShape; readonly filter: Filter },
  { after, limit }: Pick<ColumnPage, 'after' | 'limit'>,
): Promise<IdRange | typeof DAMAGED_ID | undefined> {
  const first = { order: 'asc', limit: 1, columns: [] } as const
  const [next] = await read(findRows(shape, EVERY, after === undefined ? first : { ...first, after }))
  if (next === undefined || endsBefore(filter, 'asc', next.id)) return undefined
  const high = next.id + limit - 1
  if (!Number.isSafeInteger(next.id - 1) || !Number.isSafeInteger(high + 1)) return DAMAGED_ID
  return { high, filter: sliceOf(filter)(next.id, high) }
}
