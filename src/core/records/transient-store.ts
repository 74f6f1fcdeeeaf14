/** Values that live for a while, in rows of their own: stored, read, dropped, and swept away once their time is over. */
import type { Marks } from '../barrier/marks.ts'
import type { NewRow, Row, Storage, StorageReads } from '../ports/storage.ts'
import { TRANSIENTS } from '../schema/side-tables.ts'
import type { StoreContext } from './writing-context.ts'
import { nowMs } from './writing-context.ts'
import { dropTokens } from './token-store.ts'

/** Rows one step of the sweep removes. */
const SLICE = 500

/** Ids for this many values. */
export async function reserveTransients(storage: StorageReads, count: number): Promise<readonly number[]> {
  return count === 0 ? [] : storage.reserveIds(TRANSIENTS.name, count)
}

/** Stores values. */
export async function insertTransients(storage: Storage, rows: readonly NewRow[]): Promise<void> {
  if (rows.length > 0) await storage.insert(TRANSIENTS.name, rows)
}

/** The rows of values, undefined where there is none. */
export async function getTransients(storage: StorageReads, ids: readonly number[]): Promise<readonly (Row | undefined)[]> {
  return ids.length === 0 ? [] : storage.get(TRANSIENTS.name, ids)
}

/** Drops the values that marks of replaced cells point at. */
export async function dropTransients(storage: Storage, replaced: Marks): Promise<void> {
  const ids = replaced.tickets.flatMap((ticket) => (ticket === undefined ? [] : [ticket.row]))
  if (ids.length > 0) await storage.delete(TRANSIENTS.name, { ids })
}

/** Removes what has expired, a slice at a time, with the tokens it was brought under. Answers how many values went. */
export async function sweepTransients(
  context: Pick<StoreContext, 'clock' | 'layout'> & { readonly storage: Storage },
): Promise<number> {
  const spaces = [...context.layout.tokenSpaces].flatMap(([space, { column }]) => (column.token?.expires === true ? [space] : []))
  const until = nowMs(context) + 1
  let swept = 0
  for (;;) {
    const gone = await context.storage.transaction(async (storage) => {
      const rows = await storage.find(
        TRANSIENTS.name,
        { kind: 'compare', column: 'expires_at', operator: '<', value: until },
        { order: 'up', limit: SLICE },
      )
      const ids = rows.map((row) => row.id)
      if (ids.length > 0) await storage.delete(TRANSIENTS.name, { ids })
      await dropTokens(storage, spaces, ids)
      return ids.length
    })
    swept += gone
    if (gone < SLICE) return swept
  }
}
