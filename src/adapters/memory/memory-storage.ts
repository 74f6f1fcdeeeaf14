/** The memory storage: the storage port in its plainest form, and the first adapter to read. */

import { AsyncLocalStorage } from 'node:async_hooks'
import { VaultError } from '../../core/errors.ts'
import type { Doomed, Storage, StorageHandle } from '../../core/ports/storage.ts'
import { deleteRows, insertRows, reserveIds, updateRows } from './change-rows.ts'
import { findRows } from './find-rows.ts'
import { createJournal, type Journal } from './journal.ts'
import { measureRows } from './measure-rows.ts'
import { columnNamed, currentView, type MemoryTable, type TableView } from './memory-table.ts'
import { prepareTables } from './prepare-tables.ts'
import { copyOut, createBytesCopier, type StoredRow } from './stored-cell.ts'
import { createTurns, type Turns } from './turns.ts'

interface Database {
  readonly tables: Map<string, MemoryTable>
  readonly journal: Journal
  /** The outermost transaction that the code at hand runs in. */
  readonly running: AsyncLocalStorage<Transaction>
}

/**
 * A storage held in this process's memory: empty at first, gone with the process. Writers wait for a transaction
 * that is open; readers never wait, they see what was last committed. Inside `transaction` use only the storage
 * handed to `work`: a write on the outer one is refused, for it would wait for the transaction that waits for it.
 */
export function memoryStorage(): StorageHandle {
  const database: Database = { tables: new Map(), journal: createJournal(), running: new AsyncLocalStorage() }
  return {
    ...createStorage(database, undefined),
    transactions: 'one at a time',
    joinTransaction(): Storage {
      throw new VaultError('invalid_request', 'the memory storage has no host transactions to join: use transaction() instead')
    },
    async close(): Promise<void> {},
  }
}

/** The storage port over a database; `enclosing` is the transaction it belongs to, absent for the outer storage. */
function createStorage(database: Database, enclosing: Transaction | undefined): Storage {
  const { tables, journal, running } = database
  const turns = enclosing?.turns ?? createTurns()

  function tableNamed(name: string): MemoryTable {
    const table = tables.get(name)
    if (table === undefined) throw new VaultError('internal', `no table "${name}": prepare it first`, { table: name })
    return table
  }

  /** A table as this storage may see it: uncommitted changes show only inside their transaction. */
  function view(name: string): TableView {
    assertOpen(enclosing)
    const table = tableNamed(name)
    return enclosing === undefined ? journal.committedView(table) : currentView(table)
  }

  /** Runs work when its turn comes; work that throws leaves nothing behind. */
  async function change<T>(work: () => T | Promise<T>): Promise<T> {
    if (enclosing === undefined && isOpen(running.getStore() ?? ENDED)) throw selfWaitError()
    return turns.take(async () => {
      assertOpen(enclosing)
      const mark = journal.mark()
      try {
        return await work()
      } catch (error) {
        journal.undo(mark)
        throw error
      } finally {
        if (enclosing === undefined) journal.forget()
      }
    })
  }

  return {
    prepare: (definitions) => change(() => prepareTables(tables, definitions, journal)),
    insert: (name, rows) => change(() => insertRows(tableNamed(name), rows, journal)),
    update: (name, patches) => change(() => updateRows(tableNamed(name), patches, journal)),
    delete: (name, doomed) => change(() => deleteRows(tableNamed(name), doomedIds(tableNamed(name), doomed), journal)),

    transaction: (work) =>
      change(async () => {
        const transaction: Transaction = { enclosing, turns: createTurns(), ended: false, giveUpNested: undefined }
        try {
          const inside = () => work(createStorage(database, transaction))
          return await unlessGivenUp(enclosing === undefined ? running.run(transaction, inside) : inside(), enclosing)
        } finally {
          await end(transaction)
        }
      }),

    async reserveIds(name, count) {
      assertOpen(enclosing)
      return reserveIds(tableNamed(name), count)
    },

    async get(name, ids) {
      const { table, rowAt } = view(name)
      const copyBytes = createBytesCopier()
      return ids.map((id) => {
        const row = rowAt(id)
        return row === undefined ? undefined : copyOut(row, table.bytesColumns, copyBytes)
      })
    },

    async find(name, filter, page) {
      const seen = view(name)
      for (const column of page.columns ?? []) columnNamed(seen.table, column)
      const copyBytes = createBytesCopier()
      return findRows(seen, filter, page).map((row) => {
        const shown = page.columns === undefined ? row : onlyColumns(row, page.columns)
        return copyOut(shown, seen.table.bytesColumns, copyBytes)
      })
    },

    async measure(name, filter, measures) {
      const seen = view(name)
      return measureRows(seen.table, findRows(seen, filter, ALL_ROWS), measures)
    },
  }
}

const ALL_ROWS = { order: 'up', limit: Number.POSITIVE_INFINITY } as const

/** A row with these columns alone, beside `id` and `version`. */
function onlyColumns({ id, version, ...row }: StoredRow, columns: readonly string[]): StoredRow {
  const shown: StoredRow = { id, version }
  for (const column of columns) {
    if (column !== 'id' && column !== 'version') shown[column] = row[column] ?? null
  }
  return shown
}

function doomedIds(table: MemoryTable, doomed: Doomed): readonly number[] {
  if ('ids' in doomed) return doomed.ids
  return findRows(currentView(table), doomed.filter, ALL_ROWS).map((row) => row.id)
}

interface Transaction {
  readonly enclosing: Transaction | undefined
  /** Of its own storage: whoever changes something inside. */
  readonly turns: Turns
  ended: boolean
  /** Lets nobody wait any longer for the work of the nested transaction that runs now. */
  giveUpNested: (() => void) | undefined
}

/** Stands in where no transaction runs. */
const ENDED: Transaction = { enclosing: undefined, turns: createTurns(), ended: true, giveUpNested: undefined }

/** What work answers; but when the transaction around it ends first, a rejection then and there. */
async function unlessGivenUp<T>(work: Promise<T>, enclosing: Transaction | undefined): Promise<T> {
  if (enclosing === undefined) return work
  const givenUp = new Promise<never>((_, reject) => {
    enclosing.giveUpNested = () => reject(endedError())
  })
  try {
    return await Promise.race([work, givenUp])
  } finally {
    enclosing.giveUpNested = undefined
  }
}

/** Refuses every further call inside, and waits until a nested transaction nobody awaited has been undone. */
async function end(transaction: Transaction): Promise<void> {
  transaction.ended = true
  transaction.giveUpNested?.()
  await transaction.turns.take(async () => {})
}

/** True while neither the transaction nor one around it has ended; the outer storage is always open. */
function isOpen(transaction: Transaction | undefined): boolean {
  return transaction === undefined || (!transaction.ended && isOpen(transaction.enclosing))
}

function assertOpen(transaction: Transaction | undefined): void {
  if (!isOpen(transaction)) throw endedError()
}

function selfWaitError(): VaultError {
  return new VaultError(
    'internal',
    'Inside a transaction write through the storage it was given: the outer one would wait for it for ever.',
  )
}

function endedError(): VaultError {
  return new VaultError('internal', 'the transaction of this storage has ended: use the storage at hand')
}
