/** Removes rows of the table of credentials that have expired: credentials, revocations, and what has served. */
import type { MaintenancePass } from '../maintenance/run-pass.ts'
import type { Storage } from '../ports/storage.ts'
import type { Clock } from '../ports/time.ts'
import { CREDENTIALS } from '../schema/system-tables.ts'
import { nowMs } from '../util/time.ts'

/** Maximum number of rows that one slice deletes. */
const SLICE = 500
/** Milliseconds that a row stays after it expired: a JWT may be accepted for a moment after its time, and clocks of processes differ. */
const GRACE_MS = 60 * 60_000

/** Returns the pass that deletes them. Each slice is one transaction. */
export function expiredCredentialsPass(storage: Storage, context: { readonly clock: Clock }): MaintenancePass {
  const filter = { kind: 'compare', column: 'expires_at', operator: '<', value: nowMs(context) - GRACE_MS } as const
  return {
    async slice() {
      const rows = await storage.transaction(async (inner) => {
        const expired = await inner.find(CREDENTIALS.name, filter, { order: 'asc', limit: SLICE, columns: [] })
        const ids = expired.map(({ id }) => id)
        return ids.length === 0 ? 0 : (await inner.delete(CREDENTIALS.name, { ids })).length
      })
      return { rows, isLast: rows < SLICE }
    },
  }
}
