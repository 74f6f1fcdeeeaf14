/** Runs slow work as jobs: exclusive ones under a lease, with a place to go on from; all at a pace, with progress, and listed for every process. */
import { type Fault, fault, words } from '../errors.ts'
import type { Entropy } from '../ports/crypto.ts'
import type { Scheduler, Stopwatch, Timer } from '../ports/time.ts'
import { MAINTENANCE } from '../schema/system-tables.ts'
import { attempt } from '../util/attempt.ts'
import type { Progress } from '../util/boundary.ts'
import { toHex } from '../util/bytes.ts'
import { at } from '../util/lists.ts'
import { assertNotAborted, createAbortable, type Signal, unlessAborted } from '../util/signal.ts'
import { nowMs } from '../util/time.ts'
import type { Job, JobName, Slice, Watch } from './job.ts'
import { findExclusive, type JobState, listJobs, openJobs, storeJob, sweepJobs } from './job-rows.ts'
import { CHANGED, changedReason, createRunRow, LEASE_MS, RENEW_MS, type RunPorts, type RunRow } from './run-row.ts'

/** Bytes that identify a run. */
const RUN_BYTES = 16

/** The dependencies of jobs. */
export interface JobPorts extends RunPorts {
  readonly entropy: Entropy
  readonly scheduler: Scheduler
  readonly stopwatch: Stopwatch
  readonly timer: Timer
  /** Names this process for operators. */
  readonly process: string
}

/** Which job runs. An exclusive one runs in one process at a time; several of the others run side by side, and are only listed. */
export interface JobKind {
  readonly kind: JobName
  readonly exclusive?: boolean
}

/** A job as it is listed. Times are in milliseconds since 1970. */
export interface MaintenanceJob {
  /** The method of the vault that began it. */
  readonly job: JobName
  /** The table that it is at. Absent: it is about none. */
  readonly table?: string
  /** Rows that are done, and rows in all, as they were last stored. */
  readonly done: number
  readonly total?: number
  readonly startedAt: number
  readonly renewedAt: number
  /** Host name and process id. */
  readonly process: string
  /** True if its process has not renewed it in time: it was killed or stopped, or the job was ended early and can be run on. */
  readonly isOverdue: boolean
}

/** The jobs of one vault. */
export interface Jobs {
  /**
   * Runs work as a job, and returns its result. Throws `failed_precondition` for an exclusive job that runs already. One that ended early goes on
   * from its place, at once after an error or an abort, and 60 seconds after its process was last seen. Losing the row ends exclusive work only.
   */
  run<T>(kind: JobKind, watch: Watch, work: (job: Job) => Promise<T>): Promise<T>
  /** Returns the jobs of all processes on this storage, oldest first, except for those of the last second. */
  list(): Promise<MaintenanceJob[]>
  /** Forgets jobs that were only listed, and whose processes are gone. */
  sweep(): Promise<void>
  /** Ends what waits for its pace, from now on, and exclusive work before its next slice, with `cancelled`. Other work goes on. */
  stop(): void
}

export function createJobs(ports: JobPorts): Jobs {
  const { storage } = ports
  const closing = createAbortable()
  return {
    async run({ kind, exclusive = false }, watch, work) {
      const row = exclusive ? await claim(ports, kind) : createRunRow(ports, { state: newState(ports, kind) })
      let isDone = false
      try {
        const result = await work(createJob({ ...ports, closing: closing.signal, endsEarly: exclusive }, watch, row))
        isDone = true
        return result
      } finally {
        await row.end(isDone)
      }
    },
    async list() {
      const states = await listJobs(ports, storage)
      const now = nowMs(ports)
      return states.map((state) => listed(state, now)).sort((left, right) => left.startedAt - right.startedAt)
    },
    sweep: () => sweepJobs(storage, nowMs(ports)),
    stop: closing.abort,
  }
}

function listed({ table, total, leaseUntil, ...state }: JobState, now: number): MaintenanceJob {
  return {
    job: state.job,
    ...(table !== undefined && { table }),
    done: state.done,
    ...(total !== undefined && { total }),
    startedAt: state.startedAt,
    renewedAt: state.renewedAt,
    process: state.process,
    isOverdue: !isLeased(leaseUntil, now),
  }
}

/** False too for a lease that no process can have taken by the time of this one: its clock was wrong, or the row was planted. */
function isLeased(leaseUntil: number, now: number): boolean {
  return leaseUntil > now && leaseUntil <= now + MAX_AHEAD_MS
}

/** Milliseconds by which clocks may differ, and a lease. */
const MAX_AHEAD_MS = 60 * 60_000

/** Returns the job as its work has it. */
function createJob(
  ports: JobPorts & { readonly closing: Signal; readonly endsEarly: boolean },
  { signal, report, pace }: Watch,
  row: RunRow,
): Job {
  const { scheduler, stopwatch, timer, closing, endsEarly } = ports
  const { state, place } = row
  let begun = stopwatch.now()
  const wait = async (milliseconds: number, waitsFor?: string): Promise<void> => {
    if (waitsFor !== undefined && milliseconds > 0) await report?.(progressOf(state, waitsFor))
    for (let left = milliseconds; left > 0; left -= RENEW_MS) {
      let stop = (): void => {}
      const pause = () =>
        new Promise<void>((wake) => {
          stop = timer.after(Math.min(left, RENEW_MS), wake, true)
        })
      try {
        await unlessAborted(signal, () => unlessAborted(closing, pause))
      } catch (error) {
        throw closing.aborted ? closed() : error
      } finally {
        stop()
      }
      await row.keep()
    }
  }
  const advance = async ({ rows, done, table }: Slice): Promise<void> => {
    row.advance(done ?? rows, table)
    if (done !== 0) await report?.(progressOf(state))
    await row.keep()
    // A slice that took longer than its share is not made up for.
    if (pace !== undefined) await wait((rows * 1000) / pace - (stopwatch.now() - begun))
    begun = stopwatch.now()
  }
  /** Throws before a slice that must not begin. */
  const assertGoesOn = (): void => {
    assertNotAborted(signal)
    // The next call goes on from here, so that closing need not wait for all rows.
    if (endsEarly && closing.aborted) throw closed()
  }
  const turn = async (slice: Slice): Promise<void> => {
    await advance(slice)
    await scheduler.yield()
    assertGoesOn()
  }
  return {
    signal,
    place,
    isTakenOver: row.isTakenOver,
    expect: (total) => row.expect(total),
    advance,
    turn,
    keep: row.keep,
    wait,
    savePlace: row.savePlace,
    async pass(pass) {
      let total = 0
      assertGoesOn()
      for (;;) {
        const { isLast, ...slice } = await pass.slice()
        total += slice.rows
        if (isLast) {
          await advance(slice)
          return total
        }
        await turn(slice)
      }
    },
  }
}

function progressOf({ done, total }: RunRow['state'], waitsFor?: string): Progress {
  return { done, ...(total !== undefined && { total }), ...(waitsFor !== undefined && { waitsFor }) }
}

function closed(): Fault {
  return fault('cancelled')`The vault was closed. Call it again on an open one.`
}

function newState(ports: JobPorts, job: JobName): JobState {
  const now = nowMs(ports)
  return { job, process: ports.process, startedAt: now, renewedAt: now, leaseUntil: now + LEASE_MS, done: 0 }
}

const refusals = new WeakSet<object>()

/** True for the error of an exclusive job that did not begin, because it runs already. */
export function isRunningElsewhere(error: unknown): boolean {
  return typeof error === 'object' && error !== null && refusals.has(error)
}

/** Stores the row of an exclusive job, or takes over that of a run that ended early. Of two processes that do so at once, one is refused. */
function claim(ports: JobPorts, job: JobName): Promise<RunRow> {
  const { storage } = ports
  return attempt([changedReason], async () => {
    const found = await findExclusive(storage, job)
    const [before] = found === undefined ? [] : await openJobs(ports, storage, [found])
    // A row that does not open says nothing of a place. Its plain lease decides, so that it cannot be in the way for ever.
    const leaseUntil = before?.leaseUntil ?? Number(found?.lease_until ?? 0)
    const fresh = { ...newState(ports, job), run: toHex(ports.entropy.bytes(RUN_BYTES)) }
    if (isLeased(leaseUntil, fresh.startedAt)) {
      const refusal = isRunning(job, before)
      refusals.add(refusal)
      throw refusal
    }
    const state = before?.place === undefined ? fresh : { ...before, ...fresh, done: before.done }
    const id = found?.id ?? at(await storage.reserveIds(MAINTENANCE.name, 1), 0)
    const row = { id, version: found?.version, isExclusive: true, state }
    if (!(await storage.transaction((inner) => storeJob(ports, inner, row)))) throw CHANGED
    return createRunRow(ports, { state, id, isTakenOver: found !== undefined })
  })
}

function isRunning(job: JobName, before: JobState | undefined): Fault {
  if (before === undefined) return fault('failed_precondition')`${words(job)} is running in another process. Wait for it to end.`
  const since = new Date(before.startedAt).toISOString()
  return fault(
    'failed_precondition',
  )`${words(job)} has been running since ${words(since)} in process ${words(before.process)}. Wait for it to end; vault.maintenance() shows how far it is.`
}
