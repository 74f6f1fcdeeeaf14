/** Units of work with the audit off: changes are stored without events. */
import { CATALOG_MOVED } from '../barrier/barrier.ts'
import type { CatalogFence } from '../catalog/catalog-fence.ts'
import type { Storage, StorageHandle, TransactionOptions } from '../ports/storage.ts'
import type { Clock } from '../ports/time.ts'
import {
  type EventLoopTurns,
  type GroupedInsert,
  groupInserts,
  mergeBatches,
  noted,
  type OnCommit,
  oldestGeneration,
} from './gather.ts'
import type { TrackReads } from './read-versions.ts'
import { createTurns, runEach, type Turns } from './turns.ts'
import {
  type Batch,
  insertInOrder,
  type RecordedUnit,
  type TurnChange,
  type UnitFactories,
  type UnitFactory,
  type UnitOfWork,
  unitWithin,
} from './unit-of-work.ts'

/** The dependencies of unrecorded units. */
export interface UnrecordedPorts extends EventLoopTurns {
  readonly storage: StorageHandle
  readonly clock: Clock
  readonly catalog: Catalog
  readonly trackReads: TrackReads | undefined
}

/** What units know of the catalog. */
type Catalog = Pick<CatalogFence, 'keys' | 'isCurrent' | 'assertKnownFormat'>

/** Returns the unit factories of a vault with the audit off. */
export function unrecordedUnits(ports: UnrecordedPorts): UnitFactories {
  const { storage, scheduler, clock, isAlone, onCommit, catalog, trackReads } = ports
  const insert = groupInserts<GroupedInsert>({ scheduler, isAlone }, (inserts) => {
    // Deltas are sealed before the writer is held.
    const batches = mergeBatches(inserts).filter(({ rows }) => rows.length > 0)
    const work = (inner: Storage) => insertInOrder(inner, batches)
    return noted(onCommit, changeIn(storage, catalog, oldestGeneration(inserts), work), () => inserts.length)
  })
  const turns = createTurns<Generation>((changes) => {
    const generation = oldestGeneration(changes.map(({ own }) => own))
    const work = (inner: Storage) => runEach(inner, changes, { clock, scheduler })
    return noted(onCommit, changeIn(storage, catalog, generation, work), () => changes.length)
  })
  return {
    outer: { begin: () => new UnrecordedUnit(storage, catalog, { insert, turns, onCommit }) },
    transact: (work) =>
      storage.transaction((inner) => work(factoryInside(inner, catalog, trackReads)), { takesTurns: true, runsOnce: true }),
    join: (hostTransaction) => factoryInside(storage.joinTransaction(hostTransaction), catalog, trackReads),
    async release() {},
  }
}

/** The generation of the catalog that the values of a change were checked and sealed with. */
type Generation = Pick<GroupedInsert, 'generation'>

/** What calls outside transactions share: the commits of small inserts, and those of changes of one record. */
interface Outside {
  insert(insert: GroupedInsert): Promise<void>
  readonly turns: Turns<Generation>
  readonly onCommit: OnCommit
}

/** Returns a factory of units inside an open transaction, where inserts are changes like others. */
function factoryInside(storage: Storage, catalog: Catalog, trackReads: TrackReads | undefined): UnitFactory {
  const beginReads = trackReads?.(storage)
  return {
    begin() {
      const reads = beginReads?.()
      return new UnrecordedUnit(reads?.storage ?? storage, catalog, undefined, reads?.keep)
    },
  }
}

/** A unit that counts as recorded, because there is nothing to record. A class, because each operation makes one, like the units that record. */
class UnrecordedUnit implements RecordedUnit {
  readonly storage: Storage
  readonly isRecorded = true
  isStored = false
  readonly keepReads: RecordedUnit['keepReads']
  readonly #catalog: Catalog
  readonly #outside: Outside | undefined
  #generation: number

  constructor(storage: Storage, catalog: Catalog, outside: Outside | undefined, keepReads?: () => void) {
    this.storage = storage
    this.keepReads = keepReads
    this.#catalog = catalog
    this.#outside = outside
    this.#generation = catalog.keys.generation
  }

  beginAttempt(): void {
    this.#generation = this.#catalog.keys.generation
  }

  async insert(batches: readonly Batch[]): Promise<void> {
    const generation = this.#generation
    if (this.#outside !== undefined) await this.#outside.insert({ batches, generation })
    else await changeIn(this.storage, this.#catalog, generation, (inner) => insertInOrder(inner, batches))
    this.isStored = true
  }

  async change<T>(work: (unit: UnitOfWork<Storage>) => Promise<T>, options?: TransactionOptions): Promise<T> {
    const changed = changeIn(this.storage, this.#catalog, this.#generation, (inner) => work(unitWithin(inner)), options)
    const result = await noted(this.#outside?.onCommit, changed, () => 1)
    this.isStored = true
    return result
  }

  async changeInTurn<T>(key: string, turn: TurnChange<T>): Promise<T> {
    if (this.#outside === undefined) return turn.alone()
    const result = await this.#outside.turns.run(key, turn, { generation: this.#generation })
    this.isStored = true
    return result
  }

  async record(): Promise<void> {}
}

/**
 * Runs a change that ends with a look at the catalog, because no chain head says that another process changed it. A process that changes
 * the catalog waits for writers, so a look after the change is enough. Inside a transaction each call is a savepoint: a change that
 * fails and is caught rolls back alone.
 */
function changeIn<T>(
  storage: Storage,
  catalog: Catalog,
  generation: number,
  work: (storage: Storage) => Promise<T>,
  options?: TransactionOptions,
): Promise<T> {
  return storage.transaction(async (inner) => {
    catalog.assertKnownFormat()
    const result = await work(inner)
    if (!(await catalog.isCurrent(inner, generation))) throw CATALOG_MOVED
    return result
  }, options)
}
