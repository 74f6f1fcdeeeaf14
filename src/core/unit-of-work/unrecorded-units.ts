/** Where the audit is off: changes are stored by themselves, and nothing is told. */
import type { Scheduler } from '../ports/scheduler.ts'
import type { Storage, StorageHandle } from '../ports/storage.ts'
import { mergeBatches, shareInserts } from './merge-inserts.ts'
import type { Batch, Ground, Grounds, UnitOfWork } from './unit-of-work.ts'
import { insertBatches, unitWithin } from './unit-of-work.ts'

export function unrecordedGrounds(storage: StorageHandle, scheduler: Scheduler): Grounds {
  const insert = shareInserts<{ readonly batches: readonly Batch[] }>(scheduler, (inserts) =>
    insertBatches(storage, mergeBatches(inserts)),
  )
  return {
    outer: untold({ ...unitWithin(storage), insert: (batches) => insert({ batches }) }),
    transact: (work) => storage.transaction((inner) => work(groundIn(inner))),
    join: (hostTransaction) => groundIn(storage.joinTransaction(hostTransaction)),
  }
}

/** Every call runs in a savepoint: a change that fails and is caught undoes itself alone. */
function groundIn(storage: Storage): Ground {
  const unit = unitWithin(storage)
  return untold({ ...unit, insert: (batches) => unit.change((inner) => inner.insert(batches)) })
}

/** Nothing is to be told of any unit, so all of it is. */
function untold(unit: UnitOfWork): Ground {
  return { begin: () => ({ ...unit, isTold: true, note: async () => {} }) }
}
