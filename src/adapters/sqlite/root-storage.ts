/** The storage outside any transaction: it reads what is committed and writes through the queue. */
import type { Storage } from '../../core/ports/storage.ts'
import { assertApplied, falseIfMissed, outerStorageError } from '../errors/storage-errors.ts'
import { createLevel, inCallersContext, isInsideTransaction, runToEnd } from '../sql/nested-transaction.ts'
import type { DriverConnection } from './driver-connection.ts'
import { BLOCK_SIZE } from './id-blocks.ts'
import type { LatestIds } from './latest-ids.ts'
import { tablesExistWork } from './prepare-tables.ts'
import type { RetryWhileBusy } from './retry-while-busy.ts'
import type { Scanners } from './scanners.ts'
import { createSlicedReads } from './sliced-reads.ts'
import { isBusyError, rolledBackWithOthers } from './sqlite-errors.ts'
import { createPort, type HandleState, type WorkRunner } from './storage-port.ts'
import type { TableWork } from './table-work.ts'
import { transactionStorage } from './transaction-storage.ts'
import { type WriteQueue, type Writer, type WriterBlocks, wasInnocent } from './write-queue.ts'

/** The connections of one handle, and what it shares with the transactions inside it. */
export interface HandleResources {
  readonly state: HandleState
  readonly writing: DriverConnection
  readonly reading: DriverConnection
  readonly queue: WriteQueue
  readonly scanners: Scanners
  /** Of reads: the queue has its own for writers. */
  readonly retryWhileBusy: RetryWhileBusy
  /** Throws `unavailable` once the handle is closed or its file is gone. */
  assertOpen(): void
}

export function createRootStorage(resources: HandleResources): Storage {
  const { state, scanners, retryWhileBusy, assertOpen } = resources
  const runner = createRootRunner(resources)
  const reads = createSlicedReads(state, {
    yielder: state.yielder,
    read: runner.read,
    /** Scans of unknown length use a snapshot of their own, so that writers do not wait for them. */
    async scan(slices) {
      assertOpen()
      return retryWhileBusy(() => scanners.use(slices))
    },
    async scanCache(slices) {
      assertOpen()
      return retryWhileBusy(() => scanners.useCache(slices))
    },
  })
  return { ...createPort(state, runner), ...reads }
}

function createRootRunner({ state, writing, reading, queue, retryWhileBusy, assertOpen }: HandleResources): WorkRunner {
  const { ids, yielder } = state

  function assertCanWrite(): void {
    assertOpen()
    if (isInsideTransaction(state)) throw outerStorageError()
  }

  function push<T>(writer: Writer<T>): Promise<T> {
    assertCanWrite()
    return queue.push(writer)
  }

  /**
   * On the writing connection while it is in no transaction: it keeps its pages across its own commits, where the other one reads
   * them again (docs/inside/scans.md). Work runs without a pause, so no transaction begins inside it.
   */
  const readCommitted = <T>(work: TableWork<T>): T => (writing.isOpen() ? reading : writing).run(work)

  const read: WorkRunner['read'] = (work) => {
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
    read,
    write: (work) => push({ isAtomic: true, run: () => writing.run(work) }),
    insert: (table, newRows) =>
      push({ isAtomic: true, run: ({ latest }) => writing.run(state.rows.insert(table, newRows, latest)) }),
    reserveIds(shape, count) {
      assertOpen()
      const run = ({ group, own, latest }: WriterBlocks) => {
        const request = { count, blockSize: BLOCK_SIZE, latest }
        return writing.run({ shape, begin: () => ids.reserve(shape, request, [ids.committed, group, own]) })
      }
      return ids.available(shape.name, count) ?? push({ isAtomic: true, run })
    },
    transaction(work, { takesTurns = false, runsOnce = false } = {}) {
      return runTransaction(work, { takesTurns, isAlone: false }).catch((error: unknown) => {
        if (!wasInnocent(error)) throw error
        if (runsOnce) throw rolledBackWithOthers(error)
        return runTransaction(work, { takesTurns, isAlone: true })
      })
    },
    commit({ updates, inserts }) {
      const { rows } = state
      // Nothing is awaited between the statements, so this costs neither a level nor an asynchronous context.
      const run = (latest: LatestIds): void => {
        for (const { table, patches } of updates) assertApplied(writing.run(rows.update(table, patches)))
        for (const { table, rows: newRows } of inserts) writing.run(rows.insert(table, newRows, latest))
      }
      assertCanWrite()
      try {
        if (queue.commitAtOnce(run)) return true
      } catch (error) {
        return falseIfMissed(error)
      }
      return queue.push({ isAtomic: false, run: ({ latest }) => run(latest) }).then(() => true, falseIfMissed)
    },
    tablesExist: async (tables) => read(tablesExistWork(tables)),
  }
}
