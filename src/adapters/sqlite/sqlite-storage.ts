/** Storage in one SQLite file: a writing connection behind a queue of shared commits, and others that read snapshots. */
import type { DisposableStorage } from '../../core/ports/storage.ts'
import { readOptions } from '../../core/util/options.ts'
import { closedError } from '../errors/storage-errors.ts'
import { createLevel, isInsideTransaction, mustNotTurn } from '../sql/nested-transaction.ts'
import { createTableShapes } from '../sql/table-shapes.ts'
import { createDriverConnection } from './driver-connection.ts'
import { createIdBlocks } from './id-blocks.ts'
import { joinHost } from './join-host.ts'
import { createLongWrites } from './long-writes.ts'
import { assertNodeVersion } from './node-version.ts'
import { openDatabase, type Synchronous } from './open-database.ts'
import { createRetryWhileBusy } from './retry-while-busy.ts'
import { createRootStorage } from './root-storage.ts'
import { createRowWork } from './row-work.ts'
import { createScanners } from './scanners.ts'
import type { DriverName } from './sqlite-driver.ts'
import type { HandleState } from './storage-port.ts'
import { transactionStorage } from './transaction-storage.ts'
import { createWriteQueue } from './write-queue.ts'
import { createYielder } from './yielder.ts'

// At import, before a driver can be loaded.
assertNodeVersion(process.versions.node)

/** Where a vault is kept and how durably it is written. */
export interface SqliteOptions {
  /** The file to keep everything in; created if it does not exist. Its folder must exist. */
  readonly filename: string
  /** Default `full`: no acknowledged commit is lost when the power fails. `normal` may lose the last commits. */
  readonly synchronous?: Synchronous
  /**
   * What reads and writes the file. Default `better-sqlite3`, a package to install beside this one. `node:sqlite` is a part of Node, and
   * complete enough in 24.21 and later. A file that one wrote opens in the other. Processes can use different drivers at the same time; within one process, all
   * connections to a file must use the same, because neither sees the locks of the other.
   */
  readonly driver?: DriverName
}

/**
 * Opens the file, in WAL mode. Several handles and several processes may share it. Throws `invalid_request` for a
 * database in memory, `failed_precondition` where the driver is not installed, the file is no database or does not support WAL or `synchronous`, or
 * its place cannot be written, and `unavailable` where another process holds it. Source: docs/storage-port.md.
 */
export function sqliteStorage(options: SqliteOptions): DisposableStorage {
  const {
    filename,
    synchronous = 'full',
    driver = 'better-sqlite3',
  } = readOptions(options, ['filename', 'synchronous', 'driver'], {
    of: 'sqliteStorage',
  })
  const database = openDatabase({ filename, synchronous, driver })
  const shapes = createTableShapes()
  const longWrites = createLongWrites()
  const rows = createRowWork(shapes, longWrites)
  const state: HandleState = { shapes, rows, ids: createIdBlocks(), yielder: createYielder() }
  const writing = createDriverConnection(database.writer, 'writing')
  const reading = createDriverConnection(database.reader, 'reading')
  const assertDurableOnce = once(() => database.assertDurable('outcome_unknown'))
  const queue = createWriteQueue(writing, state.ids.committed, () => {
    assertDurableOnce()
    database.guard.assertSame()
    if (longWrites.areDue()) database.checkpoint()
  })
  const scanners = createScanners(database.openScanner, { writing, reading })
  let closing: Promise<void> | undefined

  function assertOpen(): void {
    if (closing !== undefined) throw closedError('SQLite')
    database.guard.assertPresent()
  }

  return {
    ...createRootStorage({ state, writing, reading, queue, scanners, retryWhileBusy: createRetryWhileBusy(), assertOpen }),
    transactions: 'serial',
    isInsideTransaction: () => isInsideTransaction(state),
    mustNotTurn: () => mustNotTurn(state),
    joinTransaction(host) {
      assertOpen()
      const connection = joinHost(host, { filename: database.filename, driver })
      const level = createLevel(state, connection)
      // Whether the application commits is not seen here: such a frame takes no more ids from the counter than it needs.
      const frame = { state, level, above: [state.ids.committed], own: new Map(), blockSize: 0, latest: new Map() }
      return transactionStorage(frame, connection)
    },
    close() {
      closing ??= Promise.all([queue.idle(), scanners.close()]).then(() => database.close())
      return closing
    },
    async [Symbol.asyncDispose]() {
      await this.close()
    },
  }
}

/** The setting is checked after the first commit, when the driver's build would have lowered it. That commit is stored, so a failure has an unknown outcome. */
function once(assert: () => void): () => void {
  let asserted = false
  return () => {
    if (!asserted) assert()
    asserted = true
  }
}
