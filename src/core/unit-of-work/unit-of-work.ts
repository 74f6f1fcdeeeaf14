/** One operation's access to storage: what it reads, and how its change is stored, all or nothing. */
import type { EventDraft } from '../audit/event.ts'
import type { Outcome } from '../audit/outcome.ts'
import { VaultError } from '../errors.ts'
import type { NewRow, Storage, StorageReads } from '../ports/storage.ts'

/** New rows of one table. */
export interface Batch {
  readonly table: string
  readonly rows: readonly NewRow[]
}

/** Storage as one operation has it. Code that uses it does not know whether a transaction is open, whose it is, or what commits with it. */
export interface UnitOfWork<Calls extends StorageReads = StorageReads> {
  /** Outside a change it can only read; the compiler enforces that. */
  readonly storage: Calls
  /** Stores these rows, all or none. Small inserts of several callers share a commit. */
  insert(batches: readonly Batch[]): Promise<void>
  /** Runs work, all or nothing. Work may run again. */
  change<T>(work: (unit: UnitOfWork<Storage>) => Promise<T>): Promise<T>
}

/**
 * Builds an operation's event for an outcome. It is called once the outcome is known: inside the transaction of a change,
 * after a read, and again for a change whose surrounding transaction failed.
 */
export type BuildEvent = (outcome: Outcome) => EventDraft

/** The outermost unit of an operation: its change and its event are stored together, or neither is. */
export interface RecordedUnit extends UnitOfWork {
  /** True once the event is stored with a change. */
  readonly isRecorded: boolean
  /** Stores the event alone: of a read, a refusal or a failure. */
  record(outcome: Outcome): Promise<void>
}

/** Begins units of work: outside any transaction, in one of the vault's, or in one of the application's. */
export interface UnitFactory {
  /** The unit of one operation. `open` is called at once, before the caller can change the input, or never where nothing is recorded. */
  begin(open: () => BuildEvent): RecordedUnit
}

/** All unit factories of a vault. */
export interface UnitFactories {
  /** Outside any transaction. */
  readonly outer: UnitFactory
  /** Runs work in one transaction. Work may run again. */
  transact<T>(work: (units: UnitFactory) => Promise<T>): Promise<T>
  /** Inside a transaction that the application opened and commits itself. */
  join(hostTransaction: unknown): UnitFactory
}

/** A unit inside a transaction that is committed and recorded elsewhere. */
export function unitWithin(storage: Storage): UnitOfWork<Storage> {
  return {
    storage,
    insert: (batches) => insertBatches(storage, batches),
    change: (work) => storage.transaction((inner) => work(unitWithin(inner))),
  }
}

/** Inserts all or none: one table's rows by themselves, several tables' in a transaction. */
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

/** How changes are stored with their events, and events alone. */
export interface RecordingStorage {
  readonly storage: Storage
  insert(batches: readonly Batch[], build: BuildEvent): Promise<void>
  change<T>(work: (storage: Storage) => Promise<T>, build: BuildEvent): Promise<T>
  record(event: EventDraft): Promise<void>
}

/** A factory of units that store through this. An operation has one outermost change, because two would be two events. */
export function unitFactoryOf({ storage, insert, change, record }: RecordingStorage): UnitFactory {
  return {
    begin(open) {
      const build = open()
      let isRecorded = false
      const assertFirst = (): void => {
        if (isRecorded)
          throw new VaultError('internal', 'An operation changed storage twice. This is a defect; please report it.')
      }
      return {
        storage,
        get isRecorded() {
          return isRecorded
        },
        async insert(batches) {
          assertFirst()
          await insert(batches, build)
          isRecorded = true
        },
        async change(work) {
          assertFirst()
          const answer = await change((inner) => work(unitWithin(inner)), build)
          isRecorded = true
          return answer
        },
        record: (outcome) => record(build(outcome)),
      }
    },
  }
}
