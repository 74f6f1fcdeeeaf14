/** How changes reach storage: together with whatever must commit with them, which the stores need not know. */
import type { NewRow, Storage } from '../ports/storage.ts'
import type { Table } from '../schema/layout.ts'

/** New rows of one table. */
export interface Batch {
  readonly table: string
  readonly rows: readonly NewRow[]
}

/** One operation's way to change storage. Every call is all or nothing; `rows` are the rows of `table` it is about. */
export interface Commit {
  /** Stores these rows. */
  insert(batches: readonly Batch[], table: Table, rows: readonly number[]): Promise<void>
  /** Runs work in one transaction; `rowsOf` tells from its answer what it was about. Work may run again. */
  change<T>(work: (storage: Storage) => Promise<T>, table: Table, rowsOf: (answer: T) => readonly number[]): Promise<T>
}

/** Inside a transaction that somebody else commits, and speaks for. */
export function commitWithin(storage: Storage): Commit {
  return {
    insert: (batches) => insertBatches(storage, batches),
    change: (work) => storage.transaction(work),
  }
}

async function insertBatches(storage: Storage, batches: readonly Batch[]): Promise<void> {
  const [first, ...others] = batches.filter(({ rows }) => rows.length > 0)
  if (first === undefined) return
  if (others.length === 0) return storage.insert(first.table, first.rows)
  await storage.transaction((inner) => insertInOrder(inner, [first, ...others]))
}

/** Inserts one batch after the other, inside a transaction. */
export async function insertInOrder(storage: Storage, batches: readonly Batch[]): Promise<void> {
  for (const { table, rows } of batches) if (rows.length > 0) await storage.insert(table, rows)
}
