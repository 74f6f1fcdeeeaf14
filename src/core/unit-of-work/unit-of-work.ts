/** Units of work: the storage of one operation, whose change is stored all or nothing. */
import { type EventDraft, type EventRows, type Outcome, SUCCESS } from '../audit/event.ts'
import type { CatalogFence } from '../catalog/catalog-fence.ts'
import { VaultError } from '../errors.ts'
import type { NewRow, Row, Storage, StorageHandle, StorageReads, TransactionOptions } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import type { Table } from '../schema/layout.ts'
import type { Writable } from '../util/bytes.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'
import type { BeginReads } from './read-versions.ts'

/** How a change runs. */
export interface ChangeOptions extends TransactionOptions {
  /** Called with the row id of the event of the change, when it is appended; again if the change runs again. Not called with the audit off. */
  readonly onEvent?: (row: number) => void
}

/** New rows of one table. */
export interface Batch {
  readonly table: string
  readonly rows: readonly NewRow[]
}

/** A change that waits for those of the same record before it. */
export interface TurnChange<T> {
  /** Runs the change in a transaction of its own. */
  alone(): Promise<T>
  /** Runs the change in a transaction that others share. Stores only by `unit.change`, so that it is rolled back alone. Can run again. */
  shared(unit: UnitOfWork<Storage>): Promise<T>
}

/** The storage of one operation. Its user does not know whether a transaction is open, whose it is, or what commits with it. */
export interface UnitOfWork<Calls extends StorageReads = StorageReads> {
  /** Read-only outside a change, which the compiler enforces. */
  readonly storage: Calls
  /**
   * Reads one row, for an operation that succeeds if the row exists and opens, and is about nothing else. Its event can be stored with the
   * read, if the row exists. Absent where that saves nothing.
   */
  readonly getRecorded?: ((table: Table, id: number) => Promise<Row | undefined>) | undefined
  /** Inserts rows, all or none. Small inserts of several callers share a commit. */
  insert(batches: readonly Batch[]): Promise<void>
  /** Runs work in a transaction or savepoint, and returns its result. Work can run again. A savepoint is as the transaction around it. */
  change<T>(work: (unit: UnitOfWork<Storage>) => Promise<T>, options?: ChangeOptions): Promise<T>
  /**
   * Inserts rows and then runs work, as one change. Only of a part of several changes (`changes-together.ts`), which inserts the rows with those of the
   * other parts, before any of them changes something.
   */
  readonly changeAfter?:
    | (<T>(inserts: readonly Batch[], work: (unit: UnitOfWork<Storage>) => Promise<T>) => Promise<T>)
    | undefined
  /**
   * Runs a change of what `key` names, and returns its result. Outside transactions, changes with the same key run one after the other, and
   * those that wait share a transaction. Inside one, runs `alone` at once.
   */
  changeInTurn<T>(key: string, change: TurnChange<T>): Promise<T>
}

/**
 * Returns the event of an operation for an outcome. Called when the outcome is known: inside the transaction of a change, after a
 * read, and again for a change if the transaction around it failed. `rows` are those of a read that the event is stored with.
 */
export type BuildEvent = (outcome: Outcome, rows?: readonly EventRows[]) => EventDraft

/** The outermost unit of an operation: its change and its event are stored together, or neither is. */
export interface RecordedUnit extends UnitOfWork {
  /** True after the event was stored with a change. */
  readonly isRecorded: boolean
  /** True after a change, or an event, was stored: the operation cannot run again. */
  readonly isStored: boolean
  /** Notes the catalog of this moment. A change of this attempt is stored only if the catalog is still the same then. */
  beginAttempt(): void
  /** Stores the event alone, for a read, a refusal or a failure. */
  record(outcome: Outcome): Promise<void>
  /** Called when the operation has succeeded. Absent where what it read needs no versions: outside transactions. Source: `read-versions.ts`. */
  readonly keepReads?: (() => void) | undefined
}

/** Begins units of work: outside any transaction, or inside one of the vault or of the application. */
export interface UnitFactory {
  /** Returns the unit of one operation. Calls `open` at once, before the caller can change the input; never if the audit is off. */
  begin(open: () => BuildEvent): RecordedUnit
}

/** All unit factories of a vault. */
export interface UnitFactories {
  /** Outside any transaction. */
  readonly outer: UnitFactory
  /** Runs work in one transaction, once, and returns its result. */
  transact<T>(work: (units: UnitFactory) => Promise<T>): Promise<T>
  /** Returns a factory inside a transaction that the application opened and commits. */
  join(hostTransaction: unknown): UnitFactory
  /** Gives up what other processes can go on with, before the storage is closed. Never throws. */
  release(): Promise<void>
}

/** Returns a unit inside a transaction that is committed and recorded elsewhere. */
export function unitWithin(storage: Storage): UnitOfWork<Storage> {
  return {
    storage,
    insert: (batches) => insertBatches(storage, batches),
    change: (work) => storage.transaction((inner) => work(unitWithin(inner))),
    changeInTurn: (_, { alone }) => alone(),
  }
}

/** A unit inside an open transaction that stays usable if the change fails. */
export interface SavepointUnit extends UnitOfWork {
  /** True after a change was made. */
  readonly hasChanged: boolean
}

/** Returns a unit whose insert or change is a savepoint in a transaction. One that fails rolls back alone. */
export function savepointUnit(storage: Storage): SavepointUnit {
  const unit: Writable<SavepointUnit> = {
    storage,
    hasChanged: false,
    async insert(batches) {
      await storage.transaction((inner) => insertInOrder(inner, batches))
      unit.hasChanged = true
    },
    async change(work) {
      const result = await storage.transaction((inner) => work(unitWithin(inner)))
      unit.hasChanged = true
      return result
    },
    changeInTurn: (_, { alone }) => alone(),
  }
  return unit
}

/** Inserts rows, all or none: rows of several tables in a transaction. */
export async function insertBatches(storage: Storage, batches: readonly Batch[]): Promise<void> {
  const [first, ...others] = batches.filter(({ rows }) => rows.length > 0)
  if (first === undefined) return
  if (others.length === 0) return storage.insert(first.table, first.rows)
  await storage.transaction((inner) => insertInOrder(inner, [first, ...others]))
}

/** Inserts one batch after the other, inside a transaction. */
export async function insertInOrder(storage: Storage, batches: readonly Batch[]): Promise<void> {
  for (const { table, rows } of batches) if (rows.length > 0) await storage.insert(table, rows)
}

/** The event of a change, and the generation of the catalog that its values were checked and sealed with. */
export interface RecordedChange {
  readonly build: BuildEvent
  readonly generation: number
  /** How its transaction runs, if it has its own. */
  readonly options?: ChangeOptions | undefined
}

/** The catalog as this process read it last. */
export type CatalogGeneration = Pick<CatalogFence, 'keys' | 'assertKnownFormat' | 'reload'>

/** A storage that stores changes with their events, and events alone. */
export interface RecordingStorage {
  readonly storage: Storage
  insert(batches: readonly Batch[], change: RecordedChange): Promise<void>
  change<T>(work: (storage: Storage) => Promise<T>, change: RecordedChange): Promise<T>
  /** Runs a change of what `key` names in turn. Absent inside transactions, where each runs at once. */
  readonly changeInTurn?: <T>(key: string, turn: TurnChange<T>, change: RecordedChange) => Promise<T>
  record(event: EventDraft): Promise<void>
  /** Reads a row and stores an event with it. Undefined, with nothing stored, if that cannot be done in one call now. Absent where it saves nothing. */
  readonly getRecorded?: GetRecorded | undefined
}

/** Source: `RecordingStorage.getRecorded`. */
export type GetRecorded = (table: string, id: number, event: () => EventDraft) => Promise<RecordedRow | undefined>

/** A row that was read, and whether its event is stored. */
export interface RecordedRow {
  readonly row: Row | undefined
  readonly isRecorded: boolean
}

/** Returns a factory of units. A unit allows one change, because two would be two events; a second one throws `internal`. */
export function unitFactoryOf(recording: RecordingStorage, catalog: CatalogGeneration): UnitFactory {
  return { begin: (open) => new OperationUnit(recording, catalog, open()) }
}

/** The same, where each unit has a storage of its own that tracks what it reads. */
export function trackingFactoryOf(
  beginReads: BeginReads,
  recordingOn: (storage: Storage) => RecordingStorage,
  catalog: CatalogGeneration,
): UnitFactory {
  return {
    begin(open) {
      const { storage, keep } = beginReads()
      return new OperationUnit(recordingOn(storage), catalog, open(), keep)
    },
  }
}

/** A class, because each operation makes one, and an object literal with its functions takes five times the memory. */
class OperationUnit implements RecordedUnit {
  readonly storage: Storage
  readonly getRecorded: UnitOfWork['getRecorded']
  readonly keepReads: RecordedUnit['keepReads']
  isRecorded = false
  readonly #recording: RecordingStorage
  readonly #catalog: CatalogGeneration
  readonly #build: BuildEvent
  #generation: number

  constructor(recording: RecordingStorage, catalog: CatalogGeneration, build: BuildEvent, keepReads?: () => void) {
    const { storage, getRecorded } = recording
    this.storage = storage
    this.keepReads = keepReads
    this.getRecorded = getRecorded && ((table, id) => this.#getWith(getRecorded, table, id))
    this.#recording = recording
    this.#catalog = catalog
    this.#build = build
    this.#generation = catalog.keys.generation
  }

  get isStored(): boolean {
    return this.isRecorded
  }

  beginAttempt(): void {
    this.#generation = this.#catalog.keys.generation
  }

  async insert(batches: readonly Batch[]): Promise<void> {
    await this.#recording.insert(batches, this.#firstChange())
    this.isRecorded = true
  }

  async change<T>(work: (unit: UnitOfWork<Storage>) => Promise<T>, options?: ChangeOptions): Promise<T> {
    const result = await this.#recording.change((inner) => work(unitWithin(inner)), this.#firstChange(options))
    this.isRecorded = true
    return result
  }

  async changeInTurn<T>(key: string, turn: TurnChange<T>): Promise<T> {
    const { changeInTurn } = this.#recording
    if (changeInTurn === undefined) return turn.alone()
    const result = await changeInTurn(key, turn, this.#firstChange())
    this.isRecorded = true
    return result
  }

  record(outcome: Outcome): Promise<void> {
    return this.#recording.record(this.#build(outcome))
  }

  async #getWith(getRecorded: GetRecorded, table: Table, id: number): Promise<Row | undefined> {
    const { name } = table.physical
    const rows = [{ table: table.name, runs: [[id, 1] as const] }]
    const read = this.isRecorded ? undefined : await getRecorded(name, id, () => this.#build(SUCCESS, rows))
    if (read === undefined) return (await this.storage.get(name, [id]))[0]
    this.isRecorded = read.isRecorded
    return read.row
  }

  /** Returns what is stored with a change. Throws `internal` for a second one. */
  #firstChange(options?: ChangeOptions): RecordedChange {
    this.#catalog.assertKnownFormat()
    if (this.isRecorded)
      throw new VaultError('internal', 'An operation changed storage twice. This is a defect; please report it.')
    return { build: this.#build, generation: this.#generation, options }
  }
}

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

/** Returns the unit, each change of which ends with `also`, in its transaction: both are stored, or neither is. `also` can run again, as work can. */
export function unitWith(unit: UnitOfWork, also: (storage: Storage) => Promise<void>): UnitOfWork {
  const whole =
    <T>(work: (unit: UnitOfWork<Storage>) => Promise<T>) =>
    async (inner: UnitOfWork<Storage>): Promise<T> => {
      const result = await work(inner)
      await also(inner.storage)
      return result
    }
  return {
    storage: unit.storage,
    insert: (batches) => unit.change(whole((inner) => inner.insert(batches))),
    change: (work, options) => unit.change(whole(work), options),
    changeInTurn: (key, { alone, shared }) => unit.changeInTurn(key, { alone, shared: (inner) => inner.change(whole(shared)) }),
  }
}

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

/** Returns the scheduler. Inside a transaction of the storage that must not turn it takes no turn: work goes on at once. */
export function turnsOutside(storage: Pick<StorageHandle, 'mayTurn'>, scheduler: Scheduler): Scheduler {
  const mayTurn = (): boolean => storage.mayTurn()
  return { mayTurn, yield: () => (mayTurn() ? scheduler.yield() : NO_TURN) }
}

const NO_TURN: Promise<void> = Promise.resolve()
