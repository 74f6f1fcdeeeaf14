/** One operation's way to storage: what it reads there, and how what it changes is stored, all or nothing. */
import type { EventDraft } from '../audit/event.ts'
import type { Outcome } from '../audit/outcome.ts'
import type { NewRow, Storage, StorageReads } from '../ports/storage.ts'

/** New rows of one table. */
export interface Batch {
  readonly table: string
  readonly rows: readonly NewRow[]
}

/** Storage as one operation has it. Whoever stands in it need not know whether a transaction is under way, whose it is, or what commits with it. */
export interface UnitOfWork<Calls extends StorageReads = StorageReads> {
  /** What it reads from, and inside `change` writes to. */
  readonly storage: Calls
  /** Stores these rows, all or none. */
  insert(batches: readonly Batch[]): Promise<void>
  /** Runs work, all or nothing. Work may run again. */
  change<T>(work: (inner: UnitOfWork<Storage>) => Promise<T>): Promise<T>
}

/**
 * What an operation's event says of an outcome, asked once it is known: inside the transaction of a change, or at the end; and
 * once more where a transaction around it failed. `ending` is what became of the changes it is made of.
 */
export type Tell = (outcome: Outcome, ending?: Outcome) => EventDraft

/** The outermost unit of an operation: its change is stored together with its event, or not at all. */
export interface ToldUnit extends UnitOfWork {
  /** True once the event is stored with a change. */
  readonly isTold: boolean
  /** Stores the event alone: of what was read, refused or failed. */
  note(outcome: Outcome, ending?: Outcome): Promise<void>
}

/** Where operations are done: outside any transaction, in one of ours, or in one of the application's. */
export interface Ground {
  /** The unit of work of one operation. `open` notes who asks for what, now, before anybody can change it; where nothing is recorded it is never asked. */
  begin(open: () => Tell): ToldUnit
}

/** All grounds of a vault. */
export interface Grounds {
  readonly outer: Ground
  /** Runs work in one transaction. Work may run again. */
  transact<T>(work: (ground: Ground) => Promise<T>): Promise<T>
  /** A transaction the application opened itself: it commits, not we. */
  join(hostTransaction: unknown): Ground
}

/** A unit inside a transaction that somebody else commits, and speaks for. */
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

/** How a ground stores a change with its event, and an event alone. */
export interface Storing {
  readonly storage: Storage
  insert(batches: readonly Batch[], tell: Tell): Promise<void>
  change<T>(work: (storage: Storage) => Promise<T>, tell: Tell): Promise<T>
  note(event: EventDraft): Promise<void>
}

/** The ground that stores so. */
export function groundOf({ storage, insert, change, note }: Storing): Ground {
  return {
    begin(open) {
      const tell = open()
      let isTold = false
      return {
        storage,
        get isTold() {
          return isTold
        },
        async insert(batches) {
          await insert(batches, tell)
          isTold = true
        },
        async change(work) {
          const answer = await change((inner) => work(unitWithin(inner)), tell)
          isTold = true
          return answer
        },
        note: (outcome, ending) => note(tell(outcome, ending)),
      }
    },
  }
}
