/** Storage in one SQLite file: a writing connection behind a queue of shared commits, and others that read snapshots. */
import type { StorageHandle } from '../../core/ports/storage.ts'
import { unavailableError } from '../sql/sql-errors.ts'
import { createTableShapes } from '../sql/table-shapes.ts'
import { createDriverLane } from './driver-lane.ts'
import { createFrame, storageInFrame } from './frame.ts'
import { joinHost } from './join-host.ts'
import { openDatabase, type Synchronous } from './open-database.ts'
import { outerStorage } from './outer-storage.ts'
import type { Engine } from './port-over.ts'
import { createRowIds } from './row-ids.ts'
import { createRowWork } from './row-work.ts'
import { createScanners } from './scanners.ts'
import { createWriteQueue } from './write-queue.ts'

/** Where a vault is kept and how durably it is written. */
export interface SqliteOptions {
  /** The file to keep everything in; made where it does not exist. Its folder must exist. */
  readonly filename: string
  /** `full` unless said otherwise: nothing acknowledged is lost when the power fails. `normal` may lose the last commits. */
  readonly synchronous?: Synchronous
}

/**
 * Opens the file, in WAL mode. Several handles and several processes may share it. Throws `invalid_request` for a
 * database in memory and `unavailable` where the file cannot be opened. Source: docs/storage-port.md.
 */
export function sqliteStorage(options: SqliteOptions): StorageHandle {
  const database = openDatabase(options.filename, options.synchronous ?? 'full')
  const shapes = createTableShapes()
  const engine: Engine = { shapes, rows: createRowWork(shapes), ids: createRowIds() }
  const writing = createDriverLane(database.writer, 'transaction')
  const reading = createDriverLane(database.reader, 'reading')
  const queue = createWriteQueue(writing, engine.ids.committed, onceThen(database.assertDurable))
  const scanners = createScanners(database.openScanner)
  let closing: Promise<void> | undefined

  function assertOpen(): void {
    if (closing !== undefined) throw unavailableError('This SQLite storage was closed.')
  }

  return {
    ...outerStorage({ engine, writing, reading, queue, scanners, assertOpen }),
    transactions: 'one at a time',
    joinTransaction(host) {
      assertOpen()
      // The application commits or not, unseen by us: such a frame takes no more ids from the counter than it needs.
      return storageInFrame(createFrame(engine, undefined, 0), joinHost(host, database.filename))
    },
    close() {
      closing ??= Promise.all([queue.idle(), scanners.close()]).then(() => database.close())
      return closing
    },
  }
}

/** Asserted after the first commit, when the driver's build would have lowered it. */
function onceThen(assert: () => void): () => void {
  let asserted = false
  return () => {
    if (!asserted) assert()
    asserted = true
  }
}
