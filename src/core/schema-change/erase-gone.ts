/** The passes that erase what a table or column that is gone has in other places: its records, stored tokens, transient values and files. */
import { discardFilesOf } from '../file-store/remove-files.ts'
import type { MaintenancePass } from '../maintenance/job.ts'
import { createPageSize } from '../pace/pace.ts'
import type { Storage } from '../ports/storage.ts'
import { dropTokens } from '../records/token-store.ts'
import type { GoneTable } from '../schema/catalog-schema.ts'
import { TOKENS, TRANSIENTS } from '../schema/system-tables.ts'

/** Rows of one slice at most. */
const MAX_ROWS = 500

/** Returns the pass that deletes the records of a table, with their stored tokens, and marks their files for removal. */
export function tablePass(storage: Storage, { name, objectIds, holdsFiles }: GoneTable, now: number): MaintenancePass {
  const [objectId = 0] = objectIds
  return deletePass(storage, name, { kind: 'all' }, async (inner, rows) => {
    await dropTokens(inner, objectIds, rows)
    if (holdsFiles) await discardFilesOf(inner, { table: { objectId }, rows, now })
  })
}

/** Returns the passes that delete the stored tokens and the transient values of columns. */
export function cellPasses(storage: Storage, objectIds: readonly number[]): readonly MaintenancePass[] {
  const filter = { kind: 'in', column: 'object_id', values: objectIds } as const
  return [TOKENS, TRANSIENTS].map(({ name }) => deletePass(storage, name, filter, async () => {}))
}

/** Returns the pass that deletes the rows of a filter, and what `also` deletes, each slice in one transaction. */
function deletePass(
  storage: Storage,
  table: string,
  filter: Parameters<Storage['find']>[1],
  also: (storage: Storage, rows: readonly number[]) => Promise<void>,
): MaintenancePass {
  const size = createPageSize({ first: 64, max: MAX_ROWS })
  let after: number | undefined
  return {
    async slice() {
      const limit = size.next()
      const page = { order: 'asc', limit, columns: [], ...(after !== undefined && { after }) } as const
      const rows = await storage.find(table, filter, page)
      size.read(rows)
      const ids = rows.map(({ id }) => id)
      if (ids.length > 0)
        await storage.transaction(async (inner) => {
          await inner.delete(table, { ids })
          await also(inner, ids)
        })
      after = ids.at(-1) ?? after
      return { rows: ids.length, isLast: ids.length < limit }
    },
  }
}
