/** The memory storage: the storage port in its plainest form, and the first adapter to read. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { VaultError } from '../../core/errors.ts'
import type { DeleteTarget, DisposableStorage, Filter, Row, Scans, Storage, StoredTable } from '../../core/ports/storage.ts'
import { copyToSlab, freeBytes } from '../../core/util/memory.ts'
import { assertOptions } from '../../core/util/options.ts'
import {
  assertApplied,
  endedError,
  falseIfMissed,
  notBytesError,
  outerStorageError,
  unpreparedError,
} from '../errors/storage-errors.ts'
import { aggregateRows } from './aggregate-rows.ts'
import { deleteRows, insertRows, reserveIds, updateRows } from './change-rows.ts'
import { findRows } from './find-rows.ts'
import { columnNamed, columnsOf, createTable, currentView, type MemoryTable, putRow, type TableView } from './memory-table.ts'
import { dropTargets, prepareTables } from './prepare-tables.ts'
import { copyColumns, copyOut, createBytesCopier } from './stored-cell.ts'
import { createUndoLog, type UndoLog } from './undo-log.ts'

interface Database {
  readonly tables: Map<string, MemoryTable>
  readonly undoLog: UndoLog
  /** The outermost transaction of this database that the running code was called from. */
  readonly running: AsyncLocalStorage<Transaction>
}

/**
 * A storage in this process's memory: empty at first, gone with the process. Writers wait for an open transaction;
 * readers do not wait, they see the last commit. Inside `transaction` use only the storage passed to `work`: a write on the
 * outer one throws `internal`, because it would deadlock.
 */
export function memoryStorage(options: Readonly<Record<string, never>> = {}): DisposableStorage {
  assertOptions(options, [], { of: 'memoryStorage' })
  const database: Database = { tables: new Map(), undoLog: createUndoLog(), running: new AsyncLocalStorage() }
  return {
    ...createStorage(database, undefined),
    isInsideTransaction: () => isInside(database),
    mayTurn: () => true,
    async snapshot(work) {
      const tables = copyTables(database)
      const { get, find, aggregate } = createStorage({ ...database, tables, undoLog: createUndoLog() }, undefined)
      return work({ tables: storedTables(tables), get, find, aggregate })
    },
    async raiseIds(name, next) {
      const table = database.tables.get(name)
      if (table === undefined) throw unpreparedError(name)
      table.nextId = Math.max(table.nextId, next)
    },
    async purgeDisk() {
      if (isInside(database)) throw outerStorageError()
      return { done: [], remains: [IN_MEMORY] }
    },
    joinTransaction(): Storage {
      throw new VaultError('invalid_request', 'The memory storage cannot join host transactions. Use transaction() instead.')
    },
    closeMs: Number.POSITIVE_INFINITY,
    async close(): Promise<void> {},
    async [Symbol.asyncDispose]() {
      await this.close()
    },
  }
}

/** The storage port on a database; `enclosing` is the transaction it belongs to, absent for the root storage. */
function createStorage(database: Database, enclosing: Transaction | undefined): Storage {
  const { tables, undoLog, running } = database
  const mutex = enclosing?.mutex ?? createMutex()

  function tableNamed(name: string): MemoryTable {
    const table = tables.get(name)
    if (table === undefined) throw unpreparedError(name)
    return table
  }

  /** A table as this storage sees it: uncommitted changes are visible only inside their transaction. */
  function view(name: string): TableView {
    assertOpen(enclosing)
    const table = tableNamed(name)
    return enclosing === undefined ? undoLog.committedView(table) : currentView(table)
  }

  /** Runs work alone; work that throws changes nothing. Work that awaits nothing ends within the call, unless other work is before it. */
  async function change<T>(work: () => T | Promise<T>): Promise<T> {
    if (enclosing === undefined && isInside(database)) throw outerStorageError()
    const turn = mutex.enter()
    if (turn !== undefined) await turn
    try {
      assertOpen(enclosing)
      const savepoint = undoLog.savepoint()
      try {
        const result = work()
        return result instanceof Promise ? await result : result
      } catch (error) {
        undoLog.rollbackTo(savepoint)
        throw error
      } finally {
        if (enclosing === undefined) undoLog.clear()
      }
    } finally {
      mutex.leave()
    }
  }

  /** Copies of the rows of these ids, as this storage sees them. */
  function rowsOf(name: string, ids: readonly number[]): readonly (Row | undefined)[] {
    const { table, rowAt } = view(name)
    const copyBytes = createBytesCopier(ids.length)
    return ids.map((id) => {
      const row = rowAt(id)
      return row === undefined ? undefined : copyOut(row, table.bytesColumns, copyBytes)
    })
  }

  const scans: Scans = {
    async column(name, filter, { column, ...page }) {
      const seen = view(name)
      columnNamed(seen.table, column)
      const rows = findRows(seen, filter, { order: 'asc', ...page })
      const copyBytes = createBytesCopier(rows.length)
      const cells = rows.map(({ [column]: cell = null }) => (cell instanceof Uint8Array ? copyBytes(cell) : cell))
      return { cells, next: rows.length < page.limit ? undefined : rows.at(-1)?.id }
    },
    async bytes(name, filter, { column, ...page }) {
      const seen = view(name)
      if (columnNamed(seen.table, column).type !== 'bytes') throw notBytesError(name, column)
      const rows = findRows(seen, filter, { order: 'asc', ...page })
      const cells = copyToSlab(rows.map(({ [column]: cell }) => (cell instanceof Uint8Array ? cell : NO_BYTES)))
      const next = rows.length < page.limit ? undefined : rows.at(-1)?.id
      return { ids: rows.map(({ id }) => id), cells, next, free: () => freeBytes(cells.bytes) }
    },
  }

  return {
    transactions: 'serial',
    prepare: (definitions) => change(() => prepareTables(tables, definitions, undoLog)),
    drop: (targets) => change(() => dropTargets(tables, targets, undoLog)),
    insert: (name, rows) => change(() => insertRows(tableNamed(name), rows, undoLog)),
    update: (name, patches) => change(() => updateRows(tableNamed(name), patches, undoLog)),
    delete: (name, target) => change(() => deleteRows(tableNamed(name), targetIds(tableNamed(name), target), undoLog)),

    commit: (changes, { read } = {}) =>
      change(() => {
        const { updates, inserts } = changes
        const before = read === undefined || rowsOf(read.table, [read.id])[0]
        if (before === undefined) return undefined
        for (const { table, patches } of updates) assertApplied(updateRows(tableNamed(table), patches, undoLog))
        for (const { table, rows } of inserts) insertRows(tableNamed(table), rows, undoLog)
        return before
      }).catch(falseIfMissed),

    // Every transaction has the database to itself.
    async lock(target) {
      for (const name of target.kind === 'tables' ? target.tables : [target.table]) tableNamed(name)
      return true
    },

    transaction: (work) =>
      change(async () => {
        const transaction: Transaction = { enclosing, mutex: createMutex(), ended: false, revokeNested: undefined }
        try {
          const inside = () => work(createStorage(database, transaction))
          return await unlessRevoked(enclosing === undefined ? running.run(transaction, inside) : inside(), enclosing)
        } finally {
          await end(transaction)
        }
      }),

    async reserveIds(name, count) {
      assertOpen(enclosing)
      return reserveIds(tableNamed(name), count)
    },

    get: async (name, ids) => rowsOf(name, ids),

    async find(name, filter, page) {
      const seen = view(name)
      for (const column of page.columns ?? []) columnNamed(seen.table, column)
      const { columns } = page
      const found = findRows(seen, filter, page)
      const copyBytes = createBytesCopier(found.length)
      return found.map((row) =>
        columns === undefined ? copyOut(row, seen.table.bytesColumns, copyBytes) : copyColumns(row, columns, copyBytes),
      )
    },

    scan: (name, filter, page) => scans[page.shape](name, filter, page),

    async aggregate(name, filter, aggregates) {
      const seen = view(name)
      return aggregateRows(seen.table, findRows(seen, filter, ALL_ROWS), aggregates)
    },
  }
}

/** All tables with their committed rows, without indexes. Stored rows never change in place, so they are not copied. */
function copyTables({ tables, undoLog }: Database): Map<string, MemoryTable> {
  const copies = new Map<string, MemoryTable>()
  for (const table of tables.values()) {
    const copy = createTable({ name: table.name, columns: columnsOf(table), indexes: [] })
    for (const row of findRows(undoLog.committedView(table), EVERY, ALL_ROWS)) putRow(copy, row.id, row)
    copy.nextId = table.nextId
    copies.set(table.name, copy)
  }
  return copies
}

function storedTables(tables: ReadonlyMap<string, MemoryTable>): readonly StoredTable[] {
  const stored = [...tables.values()].map((table) => ({ name: table.name, columns: columnsOf(table), nextId: table.nextId }))
  return stored.sort((left, right) => (left.name < right.name ? -1 : 1))
}

const IN_MEMORY = {
  what: 'process-memory',
  text: 'Nothing is in files. Memory of deleted rows is not overwritten before the process uses it again, and can be in swap space.',
}
const EVERY: Filter = { kind: 'all' }
const NO_BYTES = new Uint8Array(0)
const ALL_ROWS = { order: 'asc', limit: Number.POSITIVE_INFINITY } as const

function targetIds(table: MemoryTable, target: DeleteTarget): readonly number[] {
  if ('ids' in target) return target.ids
  return findRows(currentView(table), target.filter, ALL_ROWS).map((row) => row.id)
}

interface Transaction {
  readonly enclosing: Transaction | undefined
  /** Of its own storage: changes inside run one at a time. */
  readonly mutex: Mutex
  ended: boolean
  /** Stops waiting for the work of the nested transaction that runs now. */
  revokeNested: (() => void) | undefined
}

/** True when the running code was called from inside a transaction that has not ended. */
function isInside({ running }: Database): boolean {
  const transaction = running.getStore()
  return transaction !== undefined && isOpen(transaction)
}

/** The result of work. Rejects with `internal` as soon as the transaction around it ends first. */
async function unlessRevoked<T>(work: Promise<T>, enclosing: Transaction | undefined): Promise<T> {
  if (enclosing === undefined) return work
  const revoked = new Promise<never>((_, reject) => {
    enclosing.revokeNested = () => reject(endedError())
  })
  try {
    return await Promise.race([work, revoked])
  } finally {
    enclosing.revokeNested = undefined
  }
}

/** Refuses every further call inside, and waits until a nested transaction that was not awaited is rolled back. */
async function end(transaction: Transaction): Promise<void> {
  transaction.ended = true
  transaction.revokeNested?.()
  await transaction.mutex.enter()
  transaction.mutex.leave()
}

/** True while neither the transaction nor one around it has ended; the root storage is always open. */
function isOpen(transaction: Transaction | undefined): boolean {
  return transaction === undefined || (!transaction.ended && isOpen(transaction.enclosing))
}

function assertOpen(transaction: Transaction | undefined): void {
  if (!isOpen(transaction)) throw endedError()
}

interface Mutex {
  /**
   * Begins work. Undefined if it can go on at once; else a promise that resolves when all work before it has ended. Each `enter` is
   * followed by one `leave`.
   */
  enter(): Promise<void> | undefined
  /** Ends work. */
  leave(): void
}

function createMutex(): Mutex {
  const waiting: (() => void)[] = []
  let locked = false

  return {
    enter() {
      if (locked) return new Promise<void>((wake) => waiting.push(wake))
      locked = true
      return undefined
    },
    leave() {
      // The lock passes on without a gap, so that a later caller cannot overtake one that waits.
      const next = waiting.shift()
      if (next === undefined) locked = false
      else next()
    },
  }
}
