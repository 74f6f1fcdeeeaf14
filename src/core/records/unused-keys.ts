/** Removes keys whose records were never stored, or are gone: of writes that failed, and of transactions whose process ended, where keys have a storage of their own. */
import type { MaintenancePass } from '../maintenance/job.ts'
import type { Patch, Row, Storage } from '../ports/storage.ts'
import type { Layout } from '../schema/layout.ts'
import { SUBJECT_KEYS } from '../schema/system-tables.ts'
import { groupBy } from '../util/lists.ts'

/** Keys that are compared at a time. */
const SLICE = 200
/** Milliseconds until a key is compared: more than any transaction takes that stores its record, or deletes it. */
const WAIT_MS = 60 * 60_000

/** Returns the pass. A key whose record exists is not compared again. */
export function unusedKeysPass(
  storage: Storage,
  { layout, nowMs }: { readonly layout: Pick<Layout, 'tables'>; readonly nowMs: number },
): MaintenancePass {
  const filter = { kind: 'compare', column: 'check_at', operator: '<', value: nowMs - WAIT_MS } as const
  const names = new Map([...layout.tables.values()].map(({ objectId, physical }) => [objectId, physical.name]))
  let after = 0
  return {
    async slice() {
      const rows = await storage.find(SUBJECT_KEYS.name, filter, { order: 'asc', after, limit: SLICE })
      after = rows.at(-1)?.id ?? after
      const unused: number[] = []
      const used: Patch[] = []
      for (const [tableId, group] of groupBy(rows, ({ table_id }) => Number(table_id))) {
        const stored = await storedOf(storage, names.get(tableId), group)
        for (const { id, version, row_id } of group) {
          if (stored?.has(Number(row_id)) === false) unused.push(id)
          else used.push({ id, version, set: { check_at: null } })
        }
      }
      await storage.update(SUBJECT_KEYS.name, used)
      const deleted = await storage.delete(SUBJECT_KEYS.name, { ids: unused })
      return { rows: deleted.length, isLast: rows.length < SLICE }
    },
  }
}

/** Returns which of the records of these keys exist; undefined for a table that this process does not know. */
async function storedOf(
  storage: Storage,
  table: string | undefined,
  keys: readonly Row[],
): Promise<ReadonlySet<number> | undefined> {
  if (table === undefined) return undefined
  const filter = { kind: 'in', column: 'id', values: keys.map(({ row_id }) => Number(row_id)) } as const
  const rows = await storage.find(table, filter, { order: 'asc', limit: keys.length, columns: [] })
  return new Set(rows.map(({ id }) => id))
}
