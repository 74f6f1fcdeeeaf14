/** Marks files for removal in the transaction that takes them from their records. Their contents are removed after it commits. */
import { fault } from '../errors.ts'
import type { Filter, Row, Storage } from '../ports/storage.ts'
import type { Table } from '../schema/layout.ts'
import { FILES } from '../schema/system-tables.ts'

/** Attempts to mark files whose scans change their rows meanwhile. */
const MAX_ATTEMPTS = 100
/** Number of files that one statement marks. */
const SLICE = 500

/** Marks the files of deleted records: they are due for removal now. */
export async function discardFilesOf(
  storage: Storage,
  { table, rows, now }: { readonly table: Pick<Table, 'objectId'>; readonly rows: readonly number[]; readonly now: number },
): Promise<void> {
  if (rows.length === 0) return
  await discard(storage, now, {
    kind: 'and',
    filters: [
      { kind: 'in', column: 'row_id', values: rows },
      { kind: 'compare', column: 'table_id', operator: '=', value: table.objectId },
    ],
  })
}

/** Marks one file, which is due for removal at a time in milliseconds since 1970. A file without a row is ignored. */
export async function discardFile(storage: Storage, id: number, removeAt: number): Promise<void> {
  await retryStale(async () => {
    const [row] = await storage.get(FILES.name, [id])
    return row === undefined || (await mark(storage, [row], removeAt)) === 0 ? 'done' : 'stale'
  })
}

/** Marks an upload that failed: it is due for removal now. A file that a record has is left as it is, whatever the error of its upload says. */
export async function discardUpload(storage: Storage, id: number, now: number): Promise<'marked' | 'attached'> {
  let isAttached = false
  await retryStale(async () => {
    const [row] = await storage.get(FILES.name, [id])
    isAttached = row !== undefined && row.row_id !== null
    return row === undefined || isAttached || (await mark(storage, [row], now)) === 0 ? 'done' : 'stale'
  })
  return isAttached ? 'attached' : 'marked'
}

async function discard(storage: Storage, now: number, filter: Filter): Promise<void> {
  let after = 0
  await retryStale(async () => {
    const page = { order: 'asc', after, limit: SLICE, columns: [] } as const
    const rows = await storage.find(FILES.name, filter, page)
    const last = rows.at(-1)
    if (last === undefined) return 'done'
    if ((await mark(storage, rows, now)) > 0) return 'stale'
    after = last.id
    return rows.length < SLICE ? 'done' : 'more'
  })
}

/** Returns the number of rows that changed meanwhile, and so are not marked. */
async function mark(storage: Storage, rows: readonly Row[], removeAt: number): Promise<number> {
  const set = { scan_at: null, remove_at: removeAt }
  const isMarked = await storage.update(
    FILES.name,
    rows.map(({ id, version }) => ({ id, version, set })),
  )
  return isMarked.filter((one) => !one).length
}

/** Runs steps until one is the last. A step that lost to a concurrent scan runs again. */
async function retryStale(step: () => Promise<'more' | 'done' | 'stale'>): Promise<void> {
  for (let stale = 0; ; ) {
    const result = await step()
    if (result === 'done') return
    if (result === 'stale' && ++stale > MAX_ATTEMPTS)
      throw fault('aborted')`The files of these records changed concurrently in every attempt. Retry.`
  }
}
