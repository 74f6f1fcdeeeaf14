/** Storage in one SQLite file: a writing connection behind a queue of shared commits, others that read snapshots, and transactions as savepoints. */
import type { DisposableStorage, DropTarget, Row, Storage } from '../../core/ports/storage.ts'
import { readOptions } from '../../core/util/options.ts'
import { assertApplied, closedError, falseIfMissed, outerStorageError } from '../errors/storage-errors.ts'
import {
  commitInTransaction,
  createLevel,
  inCallersContext,
  isInsideTransaction,
  type Level,
  mayTurn,
  runCall,
  runNested,
  runToEnd,
  type Savepoint,
} from '../sql/nested-transaction.ts'
import { createTableShapes, shapesOf, type TableShapes } from '../sql/table-shapes.ts'
import {
  type Connection,
  createDriverConnection,
  type DriverConnection,
  OPEN_SAVEPOINT,
  RELEASE_SAVEPOINT,
  ROLLBACK_TO_SAVEPOINT,
  type TableWork,
} from './connection.ts'
import { assertNodeVersion, type DriverName } from './drivers.ts'
import {
  BLOCK_SIZE,
  type BlockStack,
  type BlocksByTable,
  createIdBlocks,
  type IdBlocks,
  type LatestIds,
  returnBlocks,
} from './ids.ts'
import { joinHost } from './join-host.ts'
import { openDatabase, type Synchronous } from './open-database.ts'
import { dropWork, prepareWork, tablesExistWork } from './prepare-tables.ts'
import { createPurger } from './purge-disk.ts'
import { getRows } from './read-rows.ts'
import { createReads, type Reader } from './reads.ts'
import { deleteRows, insertRows, updateRows } from './rows.ts'
import { createScanners, type Scanners } from './scanners.ts'
import { createYielder, NO_TURNS, type OnSnapshot, type Yielder } from './scans.ts'
import { isBusyError, rolledBackWithOthers } from './sqlite-errors.ts'
import { storedTablesWork } from './stored-tables.ts'
import {
  createLongWrites,
  createRetryWhileBusy,
  createWriteQueue,
  type LongWrites,
  type WriteQueue,
  type Writer,
  type WriterBlocks,
  wasInnocent,
} from './writer.ts'

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
  const longWrites = createLongWrites()
  const state: HandleState = { shapes: createTableShapes(), longWrites, ids: createIdBlocks(), yielder: createYielder() }
  const writing = createDriverConnection(database.writer, 'writing')
  const reading = createDriverConnection(database.reader, 'reading')
  const assertDurableOnce = once(() => database.assertDurable('outcome_unknown'))
  const queue = createWriteQueue(writing, state.ids.committed, () => {
    assertDurableOnce()
    database.guard.assertSame()
    if (longWrites.areDue()) database.checkpoint()
  })
  const scanners = createScanners(database.openScanner, { writing, reading })
  const purger = createPurger(database.openRewriter, assertCanWrite)
  let closing: Promise<void> | undefined

  function assertOpen(): void {
    if (closing !== undefined) throw closedError('SQLite')
    database.guard.assertPresent()
  }

  function assertCanWrite(): void {
    assertOpen()
    if (isInsideTransaction(state)) throw outerStorageError()
  }

  return {
    ...rootStorage({ state, writing, reading, queue, scanners, assertOpen, assertCanWrite }),
    isInsideTransaction: () => isInsideTransaction(state),
    mayTurn: () => mayTurn(state),
    async snapshot(work) {
      assertOpen()
      return scanners.use(async (run) => {
        const tables = await run(storedTablesWork())
        const shapes = shapesOf(tables)
        const scan = <T>(slices: (run: OnSnapshot) => Promise<T>): Promise<T> => slices(run)
        const { get, find, aggregate } = createReads(shapes, { yielder: state.yielder, read: run, scan, scanCache: scan })
        return work({ tables, get, find, aggregate })
      })
    },
    async raiseIds(table, next) {
      const shape = state.shapes.of(table)
      assertCanWrite()
      await queue.push({ isAtomic: true, run: () => writing.run({ shape, begin: () => state.ids.raise(shape, next) }) })
    },
    purgeDisk: purger.purge,
    joinTransaction(host) {
      assertOpen()
      const connection = joinHost(host, { filename: database.filename, driver })
      const level = createLevel(state, connection)
      // Whether the application commits is not seen here: such a frame takes no more ids from the counter than it needs.
      const frame = { state, level, above: [state.ids.committed], own: new Map(), blockSize: 0, latest: new Map() }
      return transactionStorage(frame, connection)
    },
    closeMs: Number.POSITIVE_INFINITY,
    close() {
      closing ??= Promise.all([queue.idle(), scanners.close(), purger.idle()]).then(() => database.close())
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

/** What all storages of one handle share. */
interface HandleState {
  readonly shapes: TableShapes
  readonly ids: IdBlocks
  readonly longWrites: LongWrites
  readonly yielder: Yielder
}

/** Of a dropped table no id is left to give out. */
function forgetDropped({ shapes, ids }: HandleState, targets: readonly DropTarget[]): void {
  shapes.drop(targets)
  for (const target of targets) if (target.kind === 'tables') for (const table of target.tables) ids.committed.delete(table)
}

/** What a storage outside transactions and one inside have in common. Every method is async so that every failure, also before anything ran, is a rejection. */
function sharedMethods(
  { shapes, longWrites }: HandleState,
  write: <T>(work: TableWork<T>) => T | Promise<T>,
  reader: Reader,
): Omit<Storage, 'prepare' | 'drop' | 'reserveIds' | 'insert' | 'commit' | 'transaction'> {
  return {
    transactions: 'serial',
    ...createReads(shapes, reader),
    async update(table, patches) {
      return write(updateRows(shapes.of(table), patches, longWrites))
    },
    async delete(table, target) {
      return write(deleteRows(shapes.of(table), target))
    },
    // One writer at a time has the whole file.
    async lock(target) {
      for (const table of target.kind === 'tables' ? target.tables : [target.table]) shapes.of(table)
      return true
    },
  }
}

/** The connections of one handle. */
interface Handle {
  readonly state: HandleState
  readonly writing: DriverConnection
  readonly reading: DriverConnection
  readonly queue: WriteQueue
  readonly scanners: Scanners
  /** Throws `unavailable` once the handle is closed or its file is gone. */
  assertOpen(): void
  /** Throws the same, and `internal` inside a transaction. */
  assertCanWrite(): void
}

/** The storage outside any transaction: it reads what is committed and writes through the queue. */
function rootStorage({ state, writing, reading, queue, scanners, assertOpen, assertCanWrite }: Handle): Storage {
  const { shapes, longWrites, ids, yielder } = state
  /** Of reads: the queue has its own for writers. */
  const retryWhileBusy = createRetryWhileBusy()

  function push<T>(writer: Writer<T>): Promise<T> {
    assertCanWrite()
    return queue.push(writer)
  }

  const write = <T>(work: TableWork<T>): Promise<T> => push({ isAtomic: true, run: () => writing.run(work) })

  /**
   * On the writing connection while it is in no transaction: it keeps its pages across its own commits, where the other one reads
   * them again (docs/inside/scans.md). Work runs without a pause, so no transaction begins inside it.
   */
  const readCommitted = <T>(work: TableWork<T>): T => (writing.isOpen() ? reading : writing).run(work)

  function read<T>(work: TableWork<T>): T | Promise<T> {
    assertOpen()
    try {
      const result = readCommitted(work)
      return yielder.isDue() ? yielder.yield().then(() => result) : result
    } catch (error) {
      if (!isBusyError(error)) throw error
      return retryWhileBusy(() => readCommitted(work))
    }
  }

  function runTransaction<T>(
    work: (storage: Storage) => Promise<T>,
    { takesTurns, isAlone }: { readonly takesTurns: boolean; readonly isAlone: boolean },
  ): Promise<T> {
    const level = createLevel(state, writing, { takesTurns })
    const bound = inCallersContext(level, work)
    return push({
      isAtomic: false,
      runsOnce: true,
      isAlone,
      run({ group, own, latest }) {
        const frame = { state, level, above: [ids.committed, group], own, blockSize: BLOCK_SIZE, latest }
        return runToEnd(level, () => bound(transactionStorage(frame, writing)))
      },
    })
  }

  return {
    ...sharedMethods(state, write, {
      yielder,
      read,
      /** Scans of unknown length use a snapshot of their own, so that writers do not wait for them. */
      async scan(slices) {
        assertOpen()
        return retryWhileBusy(() => scanners.use(slices))
      },
      async scanCache(slices) {
        assertOpen()
        return retryWhileBusy(() => scanners.useCache(slices))
      },
    }),
    async prepare(tables) {
      // Most files have all tables, and looking does not wait for other writers.
      if (!(await read(tablesExistWork(tables)))) await write(prepareWork(tables))
      shapes.add(tables)
    },
    async drop(targets) {
      await write(dropWork(targets))
      forgetDropped(state, targets)
    },
    async reserveIds(table, count) {
      const shape = shapes.of(table)
      if (count <= 0) return []
      assertOpen()
      const run = ({ group, own, latest }: WriterBlocks) => {
        const request = { count, blockSize: BLOCK_SIZE, latest }
        return writing.run({ shape, begin: () => ids.reserve(shape, request, [ids.committed, group, own]) })
      }
      return ids.available(table, count) ?? push({ isAtomic: true, run })
    },
    async insert(table, newRows) {
      const run = ({ latest }: WriterBlocks) => writing.run(insertRows(shapes.of(table), newRows, { latest, longWrites }))
      await push({ isAtomic: true, run })
    },
    async commit({ updates, inserts }, { read: name } = {}) {
      let before: Row | true | undefined = true
      // Nothing is awaited between the statements, so this costs neither a level nor an asynchronous context.
      const run = (latest: LatestIds): void => {
        if (name !== undefined) [before] = writing.run(getRows(shapes.of(name.table), [name.id]))
        if (before === undefined) return
        for (const { table, patches } of updates) assertApplied(writing.run(updateRows(shapes.of(table), patches, longWrites)))
        for (const { table, rows } of inserts) writing.run(insertRows(shapes.of(table), rows, { latest, longWrites }))
      }
      assertCanWrite()
      try {
        if (!queue.commitAtOnce(run)) await queue.push({ isAtomic: false, run: ({ latest }) => run(latest) })
        return before
      } catch (error) {
        return falseIfMissed(error)
      }
    },
    async transaction(work, { takesTurns = false, runsOnce = false } = {}) {
      return runTransaction(work, { takesTurns, isAlone: false }).catch((error: unknown) => {
        if (!wasInnocent(error)) throw error
        if (runsOnce) throw rolledBackWithOthers(error)
        return runTransaction(work, { takesTurns, isAlone: true })
      })
    },
  }
}

/** One transaction or savepoint, and the ids it takes. */
interface TransactionFrame {
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

/** The storage inside one transaction: it ends with the transaction, and its nested transactions are savepoints. */
function transactionStorage(frame: TransactionFrame, connection: Connection): Storage {
  const { state, level, above, own, blockSize, latest } = frame
  const { shapes, ids, longWrites } = state
  const run = <T>(work: TableWork<T>): T | Promise<T> => runCall(level, () => connection.run(work))
  const onConnection = <T>(work: TableWork<T>): T | Promise<T> => {
    // The transaction may have ended while the event loop turned.
    connection.assertOpen()
    return connection.run(work)
  }
  // A scan is one call: later calls of this level wait for its last slice.
  const scan = async <T>(slices: (run: OnSnapshot) => Promise<T>): Promise<T> => runCall(level, () => slices(onConnection))
  const yielder = level.takesTurns ? state.yielder : NO_TURNS

  const transaction: Storage['transaction'] = async (work) => {
    const inner: BlocksByTable = new Map()
    const savepoint = createSavepoint(connection, () => returnBlocks(inner, own))
    return runNested(level, savepoint, (child) =>
      work(transactionStorage({ ...frame, level: child, above: [...above, own], own: inner }, connection)),
    )
  }

  return {
    ...sharedMethods(state, run, { yielder, read: run, scan, scanCache: scan }),
    async prepare(tables) {
      await run(prepareWork(tables))
      shapes.add(tables)
    },
    async drop(targets) {
      await run(dropWork(targets))
      forgetDropped(state, targets)
    },
    async reserveIds(table, count) {
      const shape = shapes.of(table)
      if (count <= 0) return []
      return run({ shape, begin: () => ids.reserve(shape, { count, blockSize, latest }, [...above, own]) })
    },
    async insert(table, newRows) {
      await run(insertRows(shapes.of(table), newRows, { latest, longWrites }))
    },
    commit: (changes, options) => commitInTransaction({ transaction }, changes, options),
    transaction,
  }
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
