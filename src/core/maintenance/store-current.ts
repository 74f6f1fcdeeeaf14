/** Stores sealed rows that belong to no operation, and so to no event: nothing is stored under keys that are not the newest. */
import { CATALOG_MOVED, OUTDATED } from '../barrier/barrier.ts'
import type { Storage, StorageReads } from '../ports/storage.ts'
import { attempt } from '../util/attempt.ts'

/** The catalog as this process read it last, as far as writers of sealed rows know it. */
export interface CurrentCatalog {
  readonly keys: { readonly generation: number }
  /** True if the stored one is of this generation, and this process has read none after it. One small read. */
  isCurrent(storage: StorageReads, generation: number): Promise<boolean>
  /** Reads it again. */
  reload(storage: StorageReads): Promise<void>
}

/**
 * Runs work that seals and stores rows in a transaction of its own, and again if the catalog was changed meanwhile: a process that slept through a rotation
 * would store rows under the key before, behind the pass that seals again.
 */
export function storeCurrent<T>(
  { storage, catalog }: { readonly storage: Storage; readonly catalog: CurrentCatalog },
  work: (transaction: Storage) => Promise<T>,
): Promise<T> {
  return attempt([{ ...OUTDATED, between: () => catalog.reload(storage) }], () =>
    storage.transaction(async (transaction) => {
      const { generation } = catalog.keys
      const result = await work(transaction)
      if (!(await catalog.isCurrent(transaction, generation))) throw CATALOG_MOVED
      return result
    }),
  )
}
