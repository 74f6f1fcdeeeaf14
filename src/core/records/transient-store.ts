/** Transient values, in rows of their own: stored, read, dropped, and purged after they expire. */
import type { TokenMetadata } from '../barrier/token-metadata.ts'
import type { MaintenancePass } from '../pace/pass.ts'
import type { Row, Storage, StorageReads } from '../ports/storage.ts'
import type { ReadingContext } from '../row-access/reading-context.ts'
import { TRANSIENTS } from '../schema/system-tables.ts'
import { nowMs } from '../util/time.ts'
import { dropTokens } from './token-store.ts'

/** Maximum number of rows that one slice of the purge deletes. */
const SLICE = 500

/** Returns row ids for `count` values. */
export async function reserveTransients(storage: StorageReads, count: number): Promise<readonly number[]> {
  return count === 0 ? [] : storage.reserveIds(TRANSIENTS.name, count)
}

/** Returns the row of each id, in order; undefined if it does not exist. */
export async function getTransients(storage: StorageReads, ids: readonly number[]): Promise<readonly (Row | undefined)[]> {
  return ids.length === 0 ? [] : storage.get(TRANSIENTS.name, ids)
}

/** Drops the transient values of replaced cells. */
export async function dropTransients(storage: Storage, replaced: TokenMetadata): Promise<void> {
  const ids = replaced.transientRefs.flatMap((transientRef) => (transientRef === undefined ? [] : [transientRef.row]))
  if (ids.length > 0) await storage.delete(TRANSIENTS.name, { ids })
}

/** Returns the pass that deletes expired values and their stored tokens. Each slice is one transaction. */
export function purgePass(storage: Storage, context: Pick<ReadingContext, 'clock' | 'layout'>): MaintenancePass {
  const objectIds = [...context.layout.tokenColumns].flatMap(([objectId, { column }]) =>
    column.token?.expires === true ? [objectId] : [],
  )
  const filter = { kind: 'compare', column: 'expires_at', operator: '<', value: nowMs(context) + 1 } as const
  return {
    async slice() {
      const rows = await storage.transaction(async (inner) => {
        const expired = await inner.find(TRANSIENTS.name, filter, { order: 'asc', limit: SLICE, columns: [] })
        const ids = expired.map(({ id }) => id)
        if (ids.length > 0) await inner.delete(TRANSIENTS.name, { ids })
        await dropTokens(inner, objectIds, ids)
        return ids.length
      })
      return { rows, isLast: rows < SLICE }
    },
  }
}
