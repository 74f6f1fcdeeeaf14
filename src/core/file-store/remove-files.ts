/** Removes files that no record names: marks them where they leave their records, and after that commits removes contents, then rows, so that a process that ends meanwhile leaves nothing unnamed. */
import { fault, isVaultError } from '../errors.ts'
import type { MaintenancePass } from '../maintenance/job.ts'
import { eachPage } from '../pace/pace.ts'
import type { Log } from '../ports/observability.ts'
import type { Filter, Row, Storage, StorageReads } from '../ports/storage.ts'
import type { Table } from '../schema/layout.ts'
import { FILES, ofRecords } from '../schema/system-tables.ts'
import { nowMs } from '../util/time.ts'
import { type FileContext, type OpenedFile, openFileRows } from './file-rows.ts'

/** Maximum number of files that one slice of the pass removes. */
const SLICE = 50
/** Milliseconds for which a process that removes a file keeps others from doing the same. */
export const REMOVAL_LEASE_MS = 60_000

/** Returns the pass that removes the files that are due: discarded ones, and uploads that never ended. */
export function removalPass(context: FileContext): MaintenancePass {
  const now = nowMs(context)
  const filter = { kind: 'compare', column: 'remove_at', operator: '<', value: now + 1 } as const
  let after = 0
  return {
    async slice() {
      const rows = await context.storage.find(FILES.name, filter, { order: 'asc', after, limit: SLICE })
      after = rows.at(-1)?.id ?? after
      return { rows: await removeRows(context, rows), isLast: rows.length < SLICE }
    },
  }
}

/** The session of an operation that removes files beside its own work. */
interface RemovingSession {
  readonly files: FileContext & { readonly isInTransaction: boolean }
  readonly log: Log | undefined
}

/** Removes at most `limit` files that are due. In a transaction, which may roll back, and after an error, the purge removes them later. */
export async function removeDueQuietly({ files: context, log }: RemovingSession, limit: number): Promise<void> {
  if (context.isInTransaction) return
  await endsQuietly(log, async () => {
    const due = { kind: 'compare', column: 'remove_at', operator: '<', value: nowMs(context) + 1 } as const
    await removeRows(context, await context.storage.find(FILES.name, due, { order: 'asc', limit }))
  })
}

/** Does work that removes files. Returns false after an error, which is logged. */
async function endsQuietly(log: Log | undefined, work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    log?.warn({ code: isVaultError(error) ? error.code : 'internal' }, 'files that are due were not removed')
    return false
  }
}

/** Number of files that a deletion of records removes at once. More are left to the purge. */
const MANY_FILES = 100

/** The session of a deletion, and what it knows of tables. */
interface DeletingSession extends RemovingSession {
  readonly catalog: { holdsFiles(table: Pick<Table, 'objectId'>): boolean }
}

/** Removes the contents of the files of deleted records, if one of these tables holds files. */
export async function removeFilesOfDeleted(session: DeletingSession, tables: readonly Pick<Table, 'objectId'>[]): Promise<void> {
  if (tables.some((table) => session.catalog.holdsFiles(table))) await removeDueQuietly(session, MANY_FILES)
}

/** Removes these files if they are due. Returns how many. */
export async function removeFiles(context: FileContext, ids: readonly number[]): Promise<number> {
  const rows = await context.storage.get(FILES.name, ids)
  const now = nowMs(context)
  return removeRows(
    context,
    rows.filter((row) => row !== undefined).filter(({ remove_at }) => typeof remove_at === 'number' && remove_at <= now),
  )
}

/** Returns the ids of the files of records. */
export async function fileIdsOf(
  storage: StorageReads,
  table: Pick<Table, 'objectId'>,
  rows: readonly number[],
): Promise<number[]> {
  const ids: number[] = []
  const walk = { filter: ofRecords(table, rows), size: MARKED_AT_ONCE, columns: [] }
  for await (const page of eachPage(storage, FILES.name, walk)) for (const { id } of page) ids.push(id)
  return ids
}

/** Removes the contents of files that are due, however many. Returns how many may be left, for the purge: an error ends it, and is logged. */
export async function removeContents({ files: context, log }: RemovingSession, ids: readonly number[]): Promise<number> {
  for (let start = 0; start < ids.length; start += SLICE) {
    const slice = ids.slice(start, start + SLICE)
    if (!(await endsQuietly(log, () => removeFiles(context, slice)))) break
  }
  let left = 0
  const soon = nowMs(context) + REMOVAL_LEASE_MS
  for (let start = 0; start < ids.length; start += SLICE) {
    const rows = await context.storage.get(FILES.name, ids.slice(start, start + SLICE))
    // The row of an upload by ticket can stay without its content until the ticket has expired.
    for (const row of rows) if (typeof row?.remove_at === 'number' && row.remove_at <= soon) left++
  }
  return left
}

/** Reserves the rows first: an upload that ends now finds its row changed, and fails. */
async function removeRows(context: FileContext, rows: readonly Row[]): Promise<number> {
  const { storage, blobs } = context
  const removeAt = nowMs(context) + REMOVAL_LEASE_MS
  // A row that fails authentication does not say what its content is, so it stays.
  const due = (await openFileRows(context, rows)).filter((file) => file !== undefined)
  const patches = due.map(({ id, version }) => ({ id, version, set: { remove_at: removeAt } }))
  const isReserved = await storage.update(FILES.name, patches)
  const reserved = due.filter((_, index) => isReserved[index] === true)
  if (reserved.length === 0) return 0
  await blobs.delete(reserved.map(({ entry }) => entry.key))
  await endRows(context, reserved)
  return reserved.length
}

/** Deletes the rows, except for those of uploads whose ticket has not expired: it must not be redeemed twice. */
async function endRows(context: FileContext, files: readonly OpenedFile[]): Promise<void> {
  const now = nowMs(context)
  const kept = files.filter(({ entry, rowId }) => rowId !== null && entry.keepUntil > now)
  const keptIds = new Set(kept.map(({ id }) => id))
  const ended = files.map(({ id }) => id).filter((id) => !keptIds.has(id))
  if (ended.length > 0) await context.storage.delete(FILES.name, { ids: ended })
  if (kept.length === 0) return
  // Reserving them raised the version by one.
  const patches = kept.map(({ id, version, entry }) => ({ id, version: version + 1, set: { remove_at: entry.keepUntil } }))
  await context.storage.update(FILES.name, patches)
}

/** Attempts to mark files whose scans change their rows meanwhile. */
const MAX_ATTEMPTS = 100
/** Number of files that one statement marks. */
const MARKED_AT_ONCE = 500

/** Marks the files of deleted records: they are due for removal now. */
export async function discardFilesOf(
  storage: Storage,
  { table, rows, now }: { readonly table: Pick<Table, 'objectId'>; readonly rows: readonly number[]; readonly now: number },
): Promise<void> {
  if (rows.length === 0) return
  await discard(storage, now, ofRecords(table, rows))
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
    const page = { order: 'asc', after, limit: MARKED_AT_ONCE, columns: [] } as const
    const rows = await storage.find(FILES.name, filter, page)
    const last = rows.at(-1)
    if (last === undefined) return 'done'
    if ((await mark(storage, rows, now)) > 0) return 'stale'
    after = last.id
    return rows.length < MARKED_AT_ONCE ? 'done' : 'more'
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
