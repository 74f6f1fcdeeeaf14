/** The rows of jobs. A row is sealed, because how much there is to do says how much data there is; in plaintext are only the name of an exclusive job, and when a row is swept. */
import type { Barrier } from '../barrier/barrier.ts'
import type { Filter, Row, Storage, StorageReads } from '../ports/storage.ts'
import { MAINTENANCE } from '../schema/system-tables.ts'
import { namesUnknownKey, openEntry, sealEntry } from '../sealing/envelope.ts'
import { readUtf8, toUtf8 } from '../util/bytes.ts'
import { at } from '../util/lists.ts'
import type { JobName, JobPlace } from './job.ts'
import type { CurrentCatalog } from './store-current.ts'

/** Maximum number of jobs in a list. There are far fewer: each process has a few. */
const MAX_LISTED = 1000
/** The lease of a row that is kept and not listed: of an import that has ended. */
export const UNLISTED = 0

const LISTED: Filter = { kind: 'compare', column: 'lease_until', operator: '>', value: UNLISTED }

/** What the sealed body of a row says. Times are in milliseconds since 1970. */
export interface JobState {
  readonly job: JobName
  /** What the row is found by, where several exclusive ones have the same job. Default: the job. */
  readonly key?: string
  /** Identifies one run of an exclusive job: a row is of the run that wrote it last. */
  readonly run?: string
  readonly process: string
  readonly startedAt: number
  readonly renewedAt: number
  /** From then on another process can take the job over. */
  readonly leaseUntil: number
  readonly done: number
  readonly total?: number | undefined
  readonly table?: string | undefined
  readonly place?: JobPlace | undefined
}

/** The keys that seal rows. */
export interface JobKeys {
  readonly barrier: Barrier
  readonly catalog: CurrentCatalog
}

/** A row to store. `version` is the one that the stored row must have; undefined for a new row. */
export interface JobRow {
  readonly id: number
  readonly version: number | undefined
  readonly isExclusive: boolean
  readonly state: JobState
}

/** Returns the row of an exclusive job by its key; undefined if it has none. */
export async function findExclusive(storage: StorageReads, key: string): Promise<Row | undefined> {
  const filter = { kind: 'compare', column: 'job', operator: '=', value: key } as const
  return (await storage.find(MAINTENANCE.name, filter, { order: 'asc', limit: 1 }))[0]
}

/** Returns the row with an id as it was committed last; undefined if it does not exist. */
export async function findJob(storage: StorageReads, id: number): Promise<Row | undefined> {
  const filter = { kind: 'compare', column: 'id', operator: '=', value: id } as const
  return (await storage.find(MAINTENANCE.name, filter, { order: 'asc', limit: 1, newest: true }))[0]
}

/** Returns the states of all listed rows that open. */
export async function listJobs(keys: JobKeys, storage: StorageReads): Promise<JobState[]> {
  const rows = await storage.find(MAINTENANCE.name, LISTED, { order: 'asc', limit: MAX_LISTED })
  return (await openJobs(keys, storage, rows)).filter((state) => state !== undefined)
}

/** Returns the state of each row, in order; undefined for one that does not open. Reads the catalog again, once, for a key that another process added. */
export async function openJobs(
  { barrier, catalog }: JobKeys,
  storage: StorageReads,
  rows: readonly Row[],
): Promise<(JobState | undefined)[]> {
  const isUnknown = ({ body }: Row): boolean => body instanceof Uint8Array && namesUnknownKey(barrier.ring, body)
  if (rows.some(isUnknown)) await catalog.reload(storage)
  return rows.map(({ id, body, job, lease_until: until }) => {
    const { ring, vault } = barrier
    const plaintext = body instanceof Uint8Array ? openEntry({ ring, vault, kind: 'maintenance', id }, body) : undefined
    if (plaintext === undefined) return undefined
    // It was authenticated, so it is what `storeJob` wrote.
    const state = JSON.parse(readUtf8(plaintext, 0, plaintext.length)) as JobState
    const leaseUntil = Math.min(state.leaseUntil, Number(until))
    return job === null || job === keyOf(state) ? { ...state, leaseUntil } : undefined
  })
}

/**
 * Stores a row, inside a transaction. Returns false if the stored row is not of the version. Throws `conflict` if an exclusive job has a row.
 * What it stores is sealed under the keys of the newest catalog: a process that slept through a rotation stores nothing under the old one.
 */
export async function storeJob(
  { barrier, catalog }: JobKeys,
  transaction: Storage,
  { id, version, isExclusive, state }: JobRow,
): Promise<boolean> {
  const plaintext = toUtf8(JSON.stringify(state))
  for (let stored = version; ; stored = (stored ?? 0) + 1) {
    const { generation } = catalog.keys
    const body = sealEntry({ ring: barrier.ring, vault: barrier.vault, kind: 'maintenance', id }, plaintext)
    const set = { body, lease_until: state.leaseUntil }
    if (stored === undefined) {
      await transaction.insert(MAINTENANCE.name, [{ id, job: isExclusive ? keyOf(state) : null, ...set }])
    } else if (!at(await transaction.update(MAINTENANCE.name, [{ id, version: stored, set }]), 0)) return false
    if (await catalog.isCurrent(transaction, generation)) return true
    await catalog.reload(transaction)
  }
}

function keyOf({ job, key = job }: JobState): string {
  return key
}

/** Deletes a row. Returns false if the stored row is not of the version. */
export async function deleteJob(storage: Storage, { id, version }: Pick<Row, 'id' | 'version'>): Promise<boolean> {
  const own = (column: string, value: number) => ({ kind: 'compare', column, operator: '=', value }) as const
  const filter = { kind: 'and', filters: [own('id', id), own('version', version)] } as const
  return (await storage.delete(MAINTENANCE.name, { filter })).length > 0
}

/** Deletes the rows of jobs that are only listed, and whose processes have not renewed them. */
export async function sweepJobs(storage: Storage, now: number): Promise<void> {
  const overdue: readonly Filter[] = [
    { kind: 'isNull', column: 'job' },
    { kind: 'compare', column: 'lease_until', operator: '<', value: now },
  ]
  await storage.delete(MAINTENANCE.name, { filter: { kind: 'and', filters: overdue } })
}
