/** Erasing from disk: takes the bytes of what was deleted out of the files of the storage, as a job, and says what remains. */
import { fault } from '../errors.ts'
import type { Job } from '../maintenance/job.ts'
import type { Jobs } from '../maintenance/jobs.ts'
import type { BlobStore } from '../ports/blobs.ts'
import type { DiskNote, DiskReport, StorageHandle } from '../ports/storage.ts'
import type { Timer } from '../ports/time.ts'
import { assertNotAborted } from '../util/signal.ts'
import type { OutsideCalls, WatchOptions } from './outside-calls.ts'

/** Options of `vault.purgeDisk`. */
export interface PurgeDiskOptions extends Pick<WatchOptions, 'signal' | 'onProgress'> {
  /** True to rewrite the tables of PostgreSQL, each under a lock that its readers wait for. SQLite is always rewritten. Default false. */
  readonly full?: boolean
}

/** The method that erases from disk. */
export interface VaultDisk {
  /**
   * Takes the bytes of deleted rows, and of earlier versions of rows, out of the files of the storage, and says what it did and where bytes remain: backups,
   * logs and disks are never reached. Call `sweep` before, for contents of files and transient values. SQLite is rewritten, for which the event loop of this
   * process has no turn and writers wait. `onProgress` counts steps; an abort ends it between two. Throws `unavailable` where others use the database for too
   * long, `storage_full` without space for a second copy, `failed_precondition` while it runs in another process, `cancelled`. Records no event. Source: docs/erasing.md.
   */
  purgeDisk(options?: PurgeDiskOptions): Promise<DiskReport>
}

/** What it needs. */
interface DiskPorts {
  readonly storage: StorageHandle
  /** The store of contents of files, where that is not the storage. */
  readonly blobs?: BlobStore
  readonly timer: Timer
  readonly outside: OutsideCalls
  readonly jobs: Jobs
}

export function createVaultDisk({ storage, blobs, timer, outside, jobs }: DiskPorts): VaultDisk {
  return {
    purgeDisk: (given) =>
      outside.watch({ verb: 'Erasing from disk', given, others: ['full'] }, async (watch, { full = false }) => {
        if (typeof full !== 'boolean') throw fault('invalid_request')`full must be true or false.`
        const { done, remains } = await jobs.run({ kind: 'purgeDisk', exclusive: true }, watch, (job) =>
          keptMeanwhile(job, timer, () => {
            let before = 0
            return storage.purgeDisk({
              full,
              async onStep(steps) {
                assertNotAborted(job.signal)
                job.expect(steps.total)
                await job.advance({ rows: steps.done - before })
                before = steps.done
              },
            })
          }),
        )
        return { done, remains: blobs === undefined ? remains : [...remains, IN_BLOBS] }
      }),
  }
}

const IN_BLOBS: DiskNote = {
  what: 'blobs',
  text: 'Contents of files are sealed in the blob store. vault.sweep() deletes those that no record names: a folder does not overwrite them, and a bucket can keep versions.',
}

/** Milliseconds between two looks at the row of the job: one step can take longer than its lease. */
const KEEP_MS = 10_000

async function keptMeanwhile<T>(job: Job, timer: Timer, work: () => Promise<T>): Promise<T> {
  let stop = (): void => {}
  const next = (): void => {
    stop = timer.after(KEEP_MS, () => {
      // The next step reports what is wrong.
      job.keep().catch(() => {})
      next()
    })
  }
  next()
  try {
    return await work()
  } finally {
    stop()
  }
}
