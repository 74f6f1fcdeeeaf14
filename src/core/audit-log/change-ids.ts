/** The public ids of new events. Those that probably come next are encrypted ahead, because in a list an id costs a seventh of what it costs alone. */
import type { Barrier } from '../barrier/barrier.ts'
import { encodeChangeIds } from '../barrier/record-ids.ts'
import type { KeyRing } from '../ports/crypto.ts'
import { MAX_ROW_ID } from '../ports/storage.ts'
import { at } from '../util/lists.ts'

/** Number of ids that are encrypted together. */
const IDS_AHEAD = 64

/** Returns the ids of events with neighboring row ids, at least one, in order. */
export type ChangeIds = (rows: readonly number[]) => readonly string[]

/** Returns a function that encrypts ids ahead while each list begins after the one before, as the events of one chain do. */
export function createChangeIds(barrier: Pick<Barrier, 'ring'>): ChangeIds {
  let ahead: { readonly ring: KeyRing; readonly first: number; readonly ids: readonly string[] } | undefined
  let next = 0
  return (rows) => {
    const { ring } = barrier
    const first = at(rows, 0)
    const end = first + rows.length
    const follows = first === next
    next = end
    if (ahead?.ring === ring && first >= ahead.first && end <= ahead.first + ahead.ids.length)
      return ahead.ids.slice(first - ahead.first, end - ahead.first)
    if (!follows || rows.length >= IDS_AHEAD || first + IDS_AHEAD > MAX_ROW_ID) return encodeChangeIds(ring, rows)
    const ids = encodeChangeIds(
      ring,
      Array.from({ length: IDS_AHEAD }, (_, step) => first + step),
    )
    ahead = { ring, first, ids }
    return ids.slice(0, rows.length)
  }
}
