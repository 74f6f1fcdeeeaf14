/** A unit of work that a signal ends until its change is handed to the storage: nothing is stored after `cancelled`. */
import type { Storage, StorageReads } from '../ports/storage.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'
import type { UnitOfWork } from './unit-of-work.ts'

/** Returns the unit with its changes checked: an insert before it is handed over, a change at its start and before its commit. */
export function abortableUnit<Calls extends StorageReads>(
  unit: UnitOfWork<Calls>,
  signal: Signal | undefined,
): UnitOfWork<Calls> {
  if (signal === undefined) return unit
  return {
    storage: unit.storage,
    async insert(batches) {
      assertNotAborted(signal)
      await unit.insert(batches)
    },
    change: (work, options) => unit.change((inner) => workUnlessAborted(signal, inner, work), options),
    changeInTurn: (key, { alone, shared }) =>
      unit.changeInTurn(key, { alone, shared: (inner) => shared(abortableUnit(inner, signal)) }),
  }
}

/** The check after the work is still inside its transaction or savepoint, which rolls back. */
async function workUnlessAborted<T>(
  signal: Signal,
  inner: UnitOfWork<Storage>,
  work: (unit: UnitOfWork<Storage>) => Promise<T>,
): Promise<T> {
  assertNotAborted(signal)
  const result = await work(inner)
  assertNotAborted(signal)
  return result
}
