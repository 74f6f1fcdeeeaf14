/** The row of one run of a job: stored when it is due, renewed with its slices, given up or deleted at its end. */
import { type Fault, fault, isVaultError, words } from '../errors.ts'
import type { Log } from '../ports/observability.ts'
import type { Storage } from '../ports/storage.ts'
import type { Clock } from '../ports/time.ts'
import { MAINTENANCE } from '../schema/system-tables.ts'
import { attempt, type Reason } from '../util/attempt.ts'
import type { Writable } from '../util/bytes.ts'
import { at } from '../util/lists.ts'
import { nowMs } from '../util/time.ts'
import type { Job, JobName, JobPlace } from './job.ts'
import { deleteJob, findJob, type JobKeys, type JobState, openJobs, storeJob, sweepJobs } from './job-rows.ts'

/** Milliseconds after which a job that its process has not renewed is taken over or swept. */
export const LEASE_MS = 60_000
/** Milliseconds after which a lease is renewed, with the next slice. */
export const RENEW_MS = LEASE_MS / 4
/** Milliseconds that a job runs before it has a row to be listed by: a short one has none. */
const UNLISTED_MS = 1000
/** Slices between two places that are stored. */
const PLACE_EVERY = 20
/** Attempts to change a row that others change too. */
const MAX_ATTEMPTS = 10

/** The dependencies of rows. */
export interface RunPorts extends JobKeys {
  readonly storage: Storage
  readonly clock: Clock
  readonly log: Log | undefined
}

/** The row of one run, which is stored only when it is due. */
export interface RunRow extends Pick<Job, 'isTakenOver' | 'keep' | 'expect' | 'savePlace'> {
  readonly state: Pick<JobState, 'done' | 'total'>
  /** Where an earlier run ended. */
  readonly place: JobPlace | undefined
  /** Notes a slice that was committed. */
  advance(done: number, table: string | undefined): void
  /** Gives up the lease of work that has a place to go on from; otherwise deletes the row. Never throws. */
  end(isDone: boolean): Promise<void>
}

/** Thrown to change a row again that changed between reading and writing. */
export const CHANGED = new Error('the row of a job changed between reading and writing it')
/** Changes it again. */
export const changedReason: Reason = {
  is: (error) => error === CHANGED || isVaultError(error, 'conflict'),
  most: MAX_ATTEMPTS,
  lastWord: () => fault('aborted')`Other processes keep changing the row of this job. Retry.`,
}

/** A run that begins. */
export interface Run {
  readonly state: JobState
  /** The id of the row of an exclusive job, which is stored already; undefined for a job that is only listed. */
  readonly id?: number
  readonly isTakenOver?: boolean
}

export function createRunRow(ports: RunPorts, { state: first, id: firstId, isTakenOver = false }: Run): RunRow {
  const { storage, log } = ports
  const state: Writable<JobState> = { ...first }
  const isExclusive = firstId !== undefined
  let id = firstId
  let lookedAt = first.renewedAt
  let isKeeping = false
  let handed: { readonly place: JobPlace; storedAt: number | undefined } | undefined
  let unsaved = 0

  /** Returns the stored row and its state; undefined if it is gone, or of another run. */
  const findOwn = async (within: Storage) => {
    const row = id === undefined ? undefined : await findJob(within, id)
    const [stored] = row === undefined ? [] : await openJobs(ports, within, [row])
    return row === undefined || stored?.run !== state.run ? undefined : { id: row.id, version: row.version }
  }
  /** Stores a state, inside a transaction. Returns the id of the row. */
  const store = async (within: Storage, next: JobState): Promise<number> => {
    const own = await findOwn(within)
    if (own === undefined && isExclusive) throw takenOver(state.job)
    const row = own ?? { id: at(await within.reserveIds(MAINTENANCE.name, 1), 0), version: undefined }
    if (!(await storeJob(ports, within, { ...row, isExclusive, state: next }))) throw CHANGED
    return row.id
  }
  const renewed = (now: number): JobState => ({ ...state, renewedAt: now, leaseUntil: now + LEASE_MS })
  const adopt = ({ renewedAt, leaseUntil }: JobState): void => {
    state.renewedAt = renewedAt
    state.leaseUntil = leaseUntil
    lookedAt = renewedAt
  }
  const renew = async (now: number): Promise<void> => {
    const next = renewed(now)
    if (id === undefined) await sweepJobs(storage, now)
    id = await attempt([changedReason], () => storage.transaction((within) => store(within, next)))
    adopt(next)
  }
  /** Does what only an operator would miss. */
  const quietly = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      log?.warn({ job: state.job, code: isVaultError(error) ? error.code : 'internal' }, 'the row of a job was not stored')
    }
  }

  return {
    state,
    place: first.place,
    isTakenOver,
    expect(total) {
      state.total = total
    },
    advance(done, table) {
      state.done += done
      // Rows that came after the count are done too.
      if (state.total !== undefined) state.total = Math.max(state.total, state.done)
      state.table = table
      if (handed === undefined) return
      state.place = handed.place
      if (handed.storedAt !== undefined) {
        adopt(renewed(handed.storedAt))
        unsaved = 0
      }
      handed = undefined
    },
    async keep() {
      const now = nowMs(ports)
      const due = lookedAt + (id === undefined ? UNLISTED_MS : RENEW_MS)
      if (isKeeping || (now < due && now >= lookedAt)) return
      isKeeping = true
      lookedAt = now
      try {
        await (isExclusive ? renew(now) : quietly(() => renew(now)))
      } finally {
        isKeeping = false
      }
    },
    async savePlace(within, place) {
      const now = nowMs(ports)
      handed = { place, storedAt: undefined }
      // Work can run again, so this is noted when the slice is known to be committed.
      if (++unsaved < PLACE_EVERY && now - state.renewedAt < RENEW_MS) return
      await attempt([changedReason], () => store(within, { ...renewed(now), place }))
      handed.storedAt = now
    },
    end: async (isDone) => {
      if (id === undefined) return
      await quietly(() =>
        attempt([changedReason], async () => {
          const own = await findOwn(storage)
          if (own === undefined) return
          if (isDone || state.place === undefined) {
            if (!(await deleteJob(storage, own))) throw CHANGED
            return
          }
          const row = { ...own, isExclusive, state: { ...state, leaseUntil: nowMs(ports) } }
          if (!(await storage.transaction((within) => storeJob(ports, within, row)))) throw CHANGED
        }),
      )
    },
  }
}

function takenOver(job: JobName): Fault {
  return fault(
    'aborted',
  )`${words(job)} was taken over by another process, because this one did not renew it in time. vault.maintenance() shows where it runs.`
}
