/** Units of work with the audit off: changes are stored without events. */
import { CATALOG_MOVED } from '../barrier/barrier.ts'
import type { CatalogFence } from '../catalog/catalog-fence.ts'
import type { Scheduler } from '../ports/scheduler.ts'
import type { Storage, StorageHandle } from '../ports/storage.ts'
import { groupInserts, mergeBatches } from './merge-inserts.ts'
import type { Batch, UnitFactories, UnitFactory, UnitOfWork } from './unit-of-work.ts'
import { insertInOrder, unitWithin } from './unit-of-work.ts'

/** The dependencies of unrecorded units. */
export interface UnrecordedPorts {
  readonly storage: StorageHandle
  readonly scheduler: Scheduler
  readonly catalog: Pick<CatalogFence, 'isCurrent'>
}

/** Returns the unit factories of a vault with the audit off. */
export function unrecordedUnits({ storage, scheduler, catalog }: UnrecordedPorts): UnitFactories {
  const unit = unitIn(storage, catalog)
  const insert = groupInserts<{ readonly batches: readonly Batch[] }>(scheduler, (inserts) => unit.insert(mergeBatches(inserts)))
  return {
    outer: unrecorded({ ...unit, insert: (batches) => insert({ batches }) }),
    transact: (work) => storage.transaction((inner) => work(unrecorded(unitIn(inner, catalog)))),
    join: (hostTransaction) => unrecorded(unitIn(storage.joinTransaction(hostTransaction), catalog)),
  }
}

/**
 * Returns a unit whose changes end with a look at the catalog, because no chain head says that another process changed it. XX
 * changes it waits for writers, so a look after the change is enough. Inside a transaction each call is a savepoint: a change that
 * fails and is caught rolls back alone.
 */
function unitIn(storage: Storage, catalog: Pick<CatalogFence, 'isCurrent'>): UnitOfWork {
  const change: UnitOfWork['change'] = (work) =>
    storage.transaction(async (inner) => {
      const result = await work(unitWithin(inner))
      if (!(await catalog.isCurrent(inner))) throw CATALOG_MOVED
      return result
    })
  return { storage, change, insert: (batches) => change(({ storage }) => insertInOrder(storage, batches)) }
}

/** Returns units that count as recorded, because there is nothing to record. */
function unrecorded(unit: UnitOfWork): UnitFactory {
  const recorded = { ...unit, isRecorded: true, record: async () => {} }
  return { begin: () => recorded }
}
