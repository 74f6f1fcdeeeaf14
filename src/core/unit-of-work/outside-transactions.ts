/** Refuses calls of the outer vault inside its own transaction: the two would wait for each other, for a connection or for the writer. */
import { VaultError } from '../errors.ts'
import type { StorageHandle } from '../ports/storage.ts'
import type { UnitFactory } from './unit-of-work.ts'

/** Returns a factory whose units begin only outside the transactions of the storage. Throws `internal` inside one, before anything is read or recorded. */
export function outsideTransactions(storage: StorageHandle, units: UnitFactory): UnitFactory {
  return {
    begin(open) {
      assertOutsideTransaction(storage)
      return units.begin(open)
    },
  }
}

/** Throws `internal` if the running code was called from inside a transaction of this storage. */
export function assertOutsideTransaction(storage: StorageHandle): void {
  if (!storage.isInsideTransaction()) return
  throw new VaultError(
    'internal',
    'The outer vault was called inside a transaction, and each would wait for the other. Use the vault passed to the callback.',
  )
}
