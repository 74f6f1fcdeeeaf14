/** Work on rows in slices: each a transaction of a few milliseconds, with a pause behind it for the writers of the application. */
import { setTimeout as pause } from 'node:timers/promises'
import { isVaultError, type VaultError } from '../core/errors.ts'
import { attempt, type Reason } from '../core/util/attempt.ts'
import { assertNotAborted, type Signal } from '../core/util/signal.ts'
import type { Connection, TransactionSettings } from './engine.ts'
import { type Adopting, type AdoptSession, type Job, readJob } from './job.ts'

/** What a slice works with. */
export interface Slice {
  readonly connection: Connection
  readonly session: AdoptSession
  readonly job: Job
  /** Rows of the slice at most. */
  readonly size: number
}

/** Runs slices one after the other. */
export interface Slices {
  /** Runs one slice in a transaction, again while others hold what it needs, and then pauses. */
  run<T>(work: (slice: Slice) => Promise<T>, settings?: TransactionSettings): Promise<T>
  /** A writer was seen: pauses leave it the lock for a while. Without one there are none. */
  sawWriter(): void
  /** Makes no more pauses. */
  hurry(): void
  isHurried(): boolean
}

const FIRST_ROWS = 50
/** Below it, the commit takes longer than the rows. */
const MIN_ROWS = 50
/** Times that a slice is tried. */
const MAX_TRIES = 100
const MAX_PAUSE_MS = 250
const GROWTH = 1.5
/** Milliseconds without a change by others, after which slices follow each other without a pause. */
const ALONE_MS = 500

export function createSlices(adopting: Adopting, signal: Signal | undefined): Slices {
  const { engine, maxRows } = adopting
  let size = Math.min(FIRST_ROWS, maxRows)
  let isHurried = false
  let writerAt = performance.now()
  const busy: Reason = {
    is: isBusy,
    most: MAX_TRIES,
    async between(count) {
      size = Math.max(1, size >> 1)
      await pause(Math.random() * Math.min(MAX_PAUSE_MS, count * 20))
    },
  }
  return {
    hurry() {
      isHurried = true
    },
    isHurried: () => isHurried,
    sawWriter() {
      writerAt = performance.now()
    },
    run: (work, settings) =>
      attempt([busy], async () => {
        assertNotAborted(signal)
        let began = 0
        const result = await engine.transaction(async (connection) => {
          began = performance.now() // The wait for the lock of the file is not the slice's.
          return work(await sliceOf(adopting, connection, size))
        }, settings)
        const took = performance.now() - began
        const factor = Math.min(GROWTH, engine.pace.sliceMs / took)
        size = Math.round(Math.max(Math.min(MIN_ROWS, maxRows), Math.min(maxRows, size * factor)))
        const isAlone = performance.now() - writerAt > ALONE_MS
        await pause(isHurried || isAlone ? 0 : took * engine.pace.rest)
        return result
      }),
  }
}

/** True for an error after which the same may succeed: others hold what it needs, or the database is away. */
export function isBusy(error: unknown): error is VaultError {
  return isVaultError(error, 'aborted') || isVaultError(error, 'unavailable')
}

/** Returns what work in a transaction of the host's database works with. */
export async function sliceOf(adopting: Adopting, connection: Connection, size: number): Promise<Slice> {
  const session = adopting.vault.withTransaction(connection.host).as(adopting.caller)
  return { connection, session, size, job: await readJob(adopting, connection) }
}
