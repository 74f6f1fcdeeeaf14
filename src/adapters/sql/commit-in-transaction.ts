/** The `commit` of the storage port as a transaction, where changes do not fit into one statement or one writer. */
import type { Changes, Storage } from '../../core/ports/storage.ts'
import { assertApplied, falseIfMissed } from '../errors/storage-errors.ts'

/** Stores all changes or none. Returns false if a patch does not apply, or another open transaction has locked its row by `tryLock`. */
export async function commitInTransaction(
  storage: Pick<Storage, 'transaction'>,
  { updates, inserts }: Changes,
): Promise<boolean> {
  try {
    await storage.transaction(async (inner) => {
      // First, because the transaction that has a lock can have inserted equal rows, for which this one would wait.
      for (const { table, patches } of updates) {
        for (const { id } of patches) assertApplied([await inner.tryLock(table, id)])
      }
      // In the order in which one statement locks the tables.
      for (const { table, rows } of inserts) await inner.insert(table, rows)
      for (const { table, patches } of updates) assertApplied(await inner.update(table, patches))
    })
    return true
  } catch (error) {
    return falseIfMissed(error)
  }
}
