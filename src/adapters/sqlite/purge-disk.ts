/** Takes the bytes of deleted rows out of the files of SQLite: rewrites the database, and empties its log. */
import { setTimeout as pause } from 'node:timers/promises'
import type { DiskNote, DiskPurge, DiskReport } from '../../core/ports/storage.ts'
import { unavailableError } from '../errors/storage-errors.ts'
import { command, createDriverConnection } from './connection.ts'
import type { DriverDatabase } from './drivers.ts'
import { isBusyError, mapSqliteError } from './sqlite-errors.ts'
import { BUSY_TIMEOUT_MS, createRetryWhileBusy } from './writer.ts'

const VACUUM = command('vacuum')
/** Between two attempts to empty the log. */
const LOG_PAUSE_MS = 20
/** The rewriting, and the log. */
const STEPS = 2

/** The purges of one handle. */
export interface Purger {
  purge(purge: DiskPurge): Promise<DiskReport>
  /** Resolves when the last one has ended. */
  idle(): Promise<void>
}

/** `open` opens the connection of one purge, and `assert` throws where none can begin. */
export function createPurger(open: () => DriverDatabase, assert: () => void): Purger {
  let last = Promise.resolve()
  return {
    async purge(purge) {
      assert()
      const rewriter = open()
      const purging = purgeFiles(rewriter, purge).finally(() => rewriter.close())
      last = purging.then(nothing, nothing)
      return purging
    },
    idle: () => last,
  }
}

function nothing(): void {}

/**
 * Rewrites the file without free space, then moves the log into it and cuts the log to nothing. The event loop has no turn meanwhile, and writers of
 * other processes wait. Throws `unavailable` after 10 seconds of waiting for a writer. Readers of an earlier state keep only the log.
 */
async function purgeFiles(rewriter: DriverDatabase, { onStep }: Pick<DiskPurge, 'onStep'>): Promise<DiskReport> {
  await onStep({ done: 0, total: STEPS })
  await rewrite(rewriter)
  await onStep({ done: 1, total: STEPS })
  const isEmpty = await emptyLog(rewriter)
  await onStep({ done: STEPS, total: STEPS })
  return isEmpty
    ? { done: [REWRITTEN, LOG_EMPTIED], remains: BEYOND_FILES }
    : { done: [REWRITTEN], remains: [LOG_IN_USE, ...BEYOND_FILES] }
}

async function rewrite(rewriter: DriverDatabase): Promise<void> {
  const connection = createDriverConnection(rewriter, 'reading')
  try {
    await createRetryWhileBusy()(() => connection.run(VACUUM))
  } catch (error) {
    if (!isBusyError(error)) throw error
    const seconds = BUSY_TIMEOUT_MS / 1000
    throw unavailableError(
      `The SQLite file was not rewritten: another connection held it for ${seconds} seconds. Retry when no long transaction writes to it.`,
    )
  }
}

/** Returns false if a reader needs the log for longer than writers are waited for. */
async function emptyLog(rewriter: DriverDatabase): Promise<boolean> {
  const end = performance.now() + BUSY_TIMEOUT_MS
  for (;;) {
    try {
      if (rewriter.pragma('wal_checkpoint(truncate)') === 0) return true
    } catch (error) {
      const mapped = mapSqliteError(error, undefined, rewriter.name)
      if (!isBusyError(mapped)) throw mapped
    }
    if (performance.now() >= end) return false
    await pause(LOG_PAUSE_MS)
  }
}

const REWRITTEN: DiskNote = { what: 'rewritten', text: 'VACUUM rewrote the database file without free space.' }
const LOG_EMPTIED: DiskNote = {
  what: 'log-emptied',
  text: 'The write-ahead log was moved into the database file and cut to 0 bytes.',
}
const LOG_IN_USE: DiskNote = {
  what: 'log',
  text: 'The write-ahead log, and the database file until the log is moved into it: a reader still needs an earlier state. Purge again when it has ended.',
}
const BEYOND_FILES: readonly DiskNote[] = [
  {
    what: 'file-system',
    text: 'Blocks that the file system took back are not overwritten, and SSDs, journals and snapshots of file systems keep copies. Encrypt the disk.',
  },
  {
    what: 'temporary-file',
    text: 'VACUUM wrote the rows that exist to a temporary file, which SQLite has deleted without overwriting it.',
  },
  { what: 'backups', text: 'Backups, replicas and copies of the file have the rows that they had.' },
]
