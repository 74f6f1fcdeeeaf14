/** Units of work with the audit off: changes are stored without events. */
import type { Scheduler } from '../ports/scheduler.ts'
import type { Storage, StorageHandle } from '../ports/storage.ts'
import { groupInserts, mergeBatches } from './merge-inserts.ts'
import type { Batch, UnitFactories, UnitFactory, UnitOfWork } from './unit-of-work.ts'
import { insertBatches, unitWithin } from './unit-of-work.ts'

/** Returns the unit factories of a vault with the audit off. */
export function unrecordedUnits(storage: StorageHandle, scheduler: Scheduler): UnitFactories {
  const insert = groupInserts<{ readonly batches: readonly Batch[] }>(scheduler, (inserts) =>
    insertBatches(storage, mergeBatches(inserts)),
  )
  return {
    outer: unrecorded({ ...unitWithin(storage), insert: (batches) => insert({ batches }) }),
    transact: (work) => storage.transaction((inner) => work(unitsIn(inner))),
    join: (hostTransaction) => unitsIn(storage.joinTransaction(hostTransaction)),
  }
}

/** Inside a transaction each call is a savepoint: a change that fails and is caught rolls back alone. */
function unitsIn(storage: Storage): UnitFactory {
  const unit = unitWithin(storage)
  return unrecorded({ ...unit, insert: (batches) => unit.change((inner) => inner.insert(batches)) })
}

/** Returns units that count as recorded, because there is nothing to record. */
function unrecorded(unit: UnitOfWork): UnitFactory {
  const recorded = { ...unit, isRecorded: true, record: async () => {} }
  return { begin: () => recorded }
}
