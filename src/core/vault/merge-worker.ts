/** Merges sealed indexes: in the background, as writers store deltas, and for the calls of a vault that ask for it. */
import { type Barrier, CATALOG_MOVED, OUTDATED, retryingBarrier } from '../barrier/barrier.ts'
import type { CatalogFence } from '../catalog/catalog-fence.ts'
import type { LiveSchema } from '../catalog/live-schema.ts'
import { isVaultError } from '../errors.ts'
import type { CrowdedIndexes } from '../execution/context.ts'
import type { Job, Watch } from '../maintenance/job.ts'
import { isRunningElsewhere, type Jobs } from '../maintenance/jobs.ts'
import { countMatches } from '../pace/pace.ts'
import type { Entropy } from '../ports/crypto.ts'
import type { Log } from '../ports/observability.ts'
import type { StorageHandle, StorageReads } from '../ports/storage.ts'
import type { Scheduler, Stopwatch, Timer } from '../ports/time.ts'
import type { Table } from '../schema/layout.ts'
import { INDEX_RUNS } from '../schema/system-tables.ts'
import type { HeadCache } from '../sealed-index/index-rows.ts'
import { compactIndexes, flushDeltas, type IndexedTable, mergeDue, sweepParts } from '../sealed-index/merge-due.ts'
import type { MergePorts } from '../sealed-index/merge-runs.ts'
import { hasErased, purgeErased } from '../sealed-index/purge-erased.ts'
import type { IndexNotes } from '../unit-of-work/delta-batch.ts'
import { attempt } from '../util/attempt.ts'
import { createAbortable, type Signal, unlessAborted } from '../util/signal.ts'
import { MergeSchedule } from './merge-schedule.ts'

/** Rest after each slice in the background, as a multiple of its time: merges take a third of the time at most. */
const REST = 2
const MAX_REST_MS = 100
/** Deltas of a table with which a write merges before it returns: so many are there only where no process merges in the background. */
const MAX_DELTAS = 1000
/** Milliseconds between two tries of a call while another process merges. */
const POLL_MS = 250

const COMPACT = { kind: 'compact', exclusive: true } as const

/** The dependencies of the worker. */
export interface MergeWorkerPorts {
  readonly storage: StorageHandle
  readonly barrier: Barrier
  readonly catalog: CatalogFence
  readonly live: LiveSchema
  readonly indexHeads: HeadCache
  readonly entropy: Entropy
  readonly scheduler: Scheduler
  readonly stopwatch: Stopwatch
  readonly timer: Timer
  readonly log: Log | undefined
  readonly jobs: Jobs
}

/** The merges of one vault. */
export interface MergeWorker extends CrowdedIndexes {
  readonly notes: IndexNotes
  /** Merges what each table has into one run an index, without the keys of what was erased or deleted. Waits while another process merges. */
  compact(watch: Watch, tables: readonly Table[]): Promise<void>
  /** Takes the keys of what was erased out of all indexes, if there are any. Waits while another process merges. */
  purge(watch: Pick<Watch, 'signal'>): Promise<void>
  /** Ends the merge in progress, which leaves everything as it was, and waits for it. */
  stop(): Promise<void>
}

/** Returns the worker of a vault. For a vault without indexes it never does anything, and has no timer. */
export function createMergeWorker(ports: MergeWorkerPorts): MergeWorker {
  const { storage, live, scheduler, stopwatch, timer, jobs } = ports
  const { signal, abort } = createAbortable()
  let wake = (): void => {}
  const schedule = new MergeSchedule({
    now: () => stopwatch.now(),
    randomByte: () => ports.entropy.bytes(1)[0] ?? 0,
    onSooner: () => wake(),
  })
  let isMerging = false
  let relieving: Promise<void> | undefined

  /** Takes a turn after each slice, and a rest in proportion to it, which does not keep the process alive. A write that waits has no rest. */
  const resting = (job: Job): Between => {
    let begun = stopwatch.now()
    return async (entries) => {
      const restMs = Math.min(MAX_REST_MS, REST * (stopwatch.now() - begun))
      if (relieving === undefined) await unlessAborted(signal, () => pause(timer, restMs))
      await job.turn({ rows: entries })
      begun = stopwatch.now()
    }
  }

  const look = async (): Promise<void> => {
    isMerging = true
    try {
      await jobs.run(COMPACT, { signal }, async (job) => {
        const began = schedule.take()
        const isSwept = began.tables === undefined || job.isTakenOver
        const purgeMs = await atCurrent(ports, resting(job), async (merging) => {
          if (isSwept) await sweepParts(merging.ports)
          const due = merging.tables.filter(({ objectId }) => began.tables?.has(objectId) !== false)
          // One call merges a limited number of deltas.
          for (const table of due) while ((await mergeDue(merging.ports, table)) > 0);
          if (!began.looksForErased || !(await hasErased(storage))) return undefined
          const start = stopwatch.now()
          await purgeErased(merging.ports, merging.tables, isGone(ports))
          return stopwatch.now() - start
        })
        schedule.ended(began, purgeMs)
      })
    } catch (error) {
      if (isRunningElsewhere(error)) schedule.taken()
      else {
        schedule.failed()
        logFailure(ports, signal, error)
      }
    } finally {
      isMerging = false
    }
  }

  /** Looks when it is time. It waits with the asynchronous context of the opening: that of a writer can be a transaction. */
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      const waitMs = schedule.at === undefined ? undefined : schedule.at - stopwatch.now()
      if (waitMs !== undefined && waitMs <= 0) {
        schedule.at = undefined
        await look()
        continue
      }
      await new Promise<void>((resolve) => {
        const stopTimer = waitMs === undefined ? () => {} : timer.after(waitMs, resolve)
        wake = () => {
          stopTimer()
          resolve()
        }
      })
    }
  }

  /** Merges the tables that have far too many deltas. An error is one of the next merge too, and not of the write. */
  const relieveAll = async (): Promise<void> => {
    const between: Between = () => unlessAborted(signal, () => scheduler.yield())
    try {
      for (const objectId of schedule.crowded) {
        const filter = { kind: 'compare', column: 'space', operator: '=', value: objectId } as const
        if ((await countMatches(storage, INDEX_RUNS.name, filter)) < MAX_DELTAS) continue
        await atCurrent(ports, between, async (merging) => {
          const table = merging.tables.find((one) => one.objectId === objectId)
          // The background, which may be at large runs, merges those of this one then.
          if (table !== undefined) await (isMerging ? flushDeltas : mergeDue)(merging.ports, table)
        })
      }
    } catch (error) {
      logFailure(ports, signal, error)
    }
    schedule.crowded.clear()
  }

  /** Runs work as the job after the calls of this process before it, and as soon as no other process does: unless what is to be done is done by then. */
  const exclusively = (watch: Watch, work: (job: Job) => Promise<void>, isDue = async () => true): Promise<void> => {
    const turn = lastCall.then(() => asSoonAsFree(watch, work, isDue))
    lastCall = turn.catch(() => {})
    return unlessAborted(watch.signal, () => turn)
  }
  let lastCall: Promise<void> = Promise.resolve()

  const asSoonAsFree = async (watch: Watch, work: (job: Job) => Promise<void>, isDue: () => Promise<boolean>): Promise<void> => {
    while (await unlessAborted(watch.signal, isDue)) {
      try {
        return await jobs.run(COMPACT, watch, work)
      } catch (error) {
        if (!isRunningElsewhere(error)) throw error
      }
      await unlessAborted(watch.signal, () => unlessAborted(signal, () => pause(timer, POLL_MS, true)))
    }
  }

  if (tablesOf(live).length > 0) schedule.begin()
  const ended = run()
  return {
    notes: schedule,
    crowded: schedule.crowded,
    relieve() {
      relieving ??= relieveAll().finally(() => {
        relieving = undefined
      })
      return relieving
    },
    compact: (watch, tables) =>
      exclusively(watch, (job) => {
        const names = new Map(tables.map(({ objectId, name }) => [objectId, name]))
        let table: string | undefined
        const between: Between = (entries) => job.turn({ rows: entries, table })
        return atCurrent(ports, between, async (merging) => {
          await sweepParts(merging.ports)
          const wanted = merging.tables.filter(({ objectId }) => names.has(objectId))
          await purgeErased(merging.ports, wanted, isGone(ports))
          for (const one of wanted) {
            table = names.get(one.objectId)
            await compactIndexes(merging.ports, one)
          }
        })
      }),
    purge: (watch) =>
      exclusively(
        watch,
        (job) => {
          const between: Between = (entries) => job.turn({ rows: entries })
          return atCurrent(ports, between, (merging) => purgeErased(merging.ports, merging.tables, isGone(ports)))
        },
        () => hasErased(storage),
      ),
    async stop() {
      abort()
      wake()
      await ended
    },
  }
}

/** Takes a turn after a slice of so many entries. */
type Between = MergePorts['between']

/** What merges of one moment need: with another catalog they are lost. */
interface Merging {
  readonly ports: MergePorts
  readonly tables: readonly IndexedTable[]
}

/** Runs merges with the catalog of this moment, and again if it was changed meanwhile. */
function atCurrent<T>(ports: MergeWorkerPorts, between: Between, work: (merging: Merging) => Promise<T>): Promise<T> {
  const { storage, barrier, catalog, live, indexHeads: cache, entropy } = ports
  return attempt([{ ...OUTDATED, between: () => catalog.reload(storage) }], async () => {
    const { generation } = catalog.keys
    const isCurrent = (on: StorageReads): Promise<boolean> => catalog.isCurrent(on, generation)
    if (!(await isCurrent(storage))) throw CATALOG_MOVED
    const fence = { keys: { generation }, isCurrent, reload: (on: StorageReads) => catalog.reload(on) }
    const merging = { storage, keys: retryingBarrier(barrier), cache, entropy, catalog: fence, between }
    try {
      return await work({ ports: merging, tables: tablesOf(live) })
    } catch (error) {
      if (isVaultError(error, 'aborted') && !(await isCurrent(storage))) throw CATALOG_MOVED
      throw error
    }
  })
}

/** Returns the tables with indexes, and what merges need of those. */
function tablesOf({ layout }: LiveSchema): readonly IndexedTable[] {
  return [...layout.tables.values()].flatMap(({ objectId, indexed }) => {
    const indexes = indexed.map(({ column, index }) => ({ objectId: index.objectId, hasSums: column.type.scale !== undefined }))
    return indexes.length === 0 ? [] : [{ objectId, indexes }]
  })
}

/** Returns what is true for the object id of a table that was dropped. */
function isGone({ catalog }: MergeWorkerPorts): (objectId: number) => boolean {
  return (objectId) => Object.values(catalog.schema.tables).every((table) => table.objectId !== objectId)
}

function pause(timer: Timer, milliseconds: number, keepsAlive?: boolean): Promise<void> {
  return new Promise((resolve) => void timer.after(milliseconds, resolve, keepsAlive))
}

/** Logs why indexes were not merged. What is due stays due. */
function logFailure({ log }: MergeWorkerPorts, signal: Signal, error: unknown): void {
  if (!signal.aborted) log?.warn({ code: isVaultError(error) ? error.code : 'internal' }, 'sealed indexes not merged')
}
