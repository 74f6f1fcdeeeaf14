/** The storage inside one transaction: it ends with the transaction, and its nested transactions are savepoints. */
import type { Storage } from '../../core/ports/storage.ts'
import { type Level, runCall, runNested, type Savepoint } from '../sql/nested-transaction.ts'
import { type BlockStack, type BlocksByTable, returnBlocks } from './id-blocks.ts'
import type { LatestIds } from './latest-ids.ts'
import { createSlicedReads } from './sliced-reads.ts'
import type { OnSnapshot } from './sliced-scans.ts'
import { createPort, type HandleState } from './storage-port.ts'
import { type Connection, OPEN_SAVEPOINT, RELEASE_SAVEPOINT, ROLLBACK_TO_SAVEPOINT, type TableWork } from './table-work.ts'
import { NO_TURNS } from './yielder.ts'

/** One transaction or savepoint, and the ids it takes. */
export interface TransactionFrame {
  readonly state: HandleState
  readonly level: Level
  /** Id blocks from the process down to the frame around this one. */
  readonly above: BlockStack
  /** Id blocks of this frame. */
  readonly own: BlocksByTable
  /** Ids to take from the counter at once: a whole block where this library commits, only those needed where the application does. */
  readonly blockSize: number
  /** What the transaction knows of the ids that are committed. */
  readonly latest: LatestIds
}

/** The storage port inside a frame. */
export function transactionStorage(frame: TransactionFrame, connection: Connection): Storage {
  const { state, level, above, own, blockSize, latest } = frame
  const run = <T>(work: TableWork<T>): T | Promise<T> => runCall(level, () => connection.run(work))
  const port = createPort(state, {
    read: run,
    write: run,
    insert: (table, newRows) => run(state.rows.insert(table, newRows, latest)),
    reserveIds(shape, count) {
      return run({ shape, begin: () => state.ids.reserve(shape, { count, blockSize, latest }, [...above, own]) })
    },
    transaction(work) {
      const inner: BlocksByTable = new Map()
      const savepoint = createSavepoint(connection, () => returnBlocks(inner, own))
      return runNested(level, savepoint, (child) =>
        work(transactionStorage({ state, level: child, above: [...above, own], own: inner, blockSize, latest }, connection)),
      )
    },
  })
  const onConnection = <T>(work: TableWork<T>): T | Promise<T> => {
    // The transaction may have ended while the event loop turned.
    connection.assertOpen()
    return connection.run(work)
  }
  const yielder = level.takesTurns ? state.yielder : NO_TURNS
  // A scan is one call: later calls of this level wait for its last slice.
  const scan = async <T>(slices: (run: OnSnapshot) => Promise<T>): Promise<T> => runCall(level, () => slices(onConnection))
  return { ...port, ...createSlicedReads(state, { yielder, read: run, scan, scanCache: scan }) }
}

/** A savepoint on a connection. `onRelease` runs once its changes are kept. */
function createSavepoint(connection: Connection, onRelease: () => void): Savepoint {
  return {
    open: () => connection.run(OPEN_SAVEPOINT),
    release() {
      const released = connection.run(RELEASE_SAVEPOINT)
      return released instanceof Promise ? released.then(onRelease) : onRelease()
    },
    async rollback() {
      if (!connection.isOpen()) return
      try {
        await connection.run(ROLLBACK_TO_SAVEPOINT)
      } catch {
        // SQLite rolled back the whole transaction by itself; the error being rethrown says why.
      }
    },
  }
}
