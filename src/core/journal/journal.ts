/** Where changes and the events that tell of them meet: both are stored in one transaction, or neither is. */
import type { EventDraft } from '../audit/event.ts'
import type { Storage } from '../ports/storage.ts'
import type { Batch } from './commit.ts'

/** The audit trail as operations write to it. Every call fails when its event cannot be stored, and then nothing else was. */
export interface Journal {
  /** Stores rows together with their event; concurrent calls may share a transaction. */
  insert(batches: readonly Batch[], event: EventDraft): Promise<void>
  /** Runs work and stores the event it came to, in one transaction. Work may run again. */
  change<T>(work: (storage: Storage) => Promise<T>, describe: (answer: T) => EventDraft): Promise<T>
  /** Stores an event alone: of what was read, refused or failed. Concurrent calls share a transaction. */
  note(event: EventDraft): Promise<void>
}
