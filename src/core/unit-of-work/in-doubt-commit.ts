/** Settles transactions whose end nobody heard, because the storage was lost while they committed: their own event says how they ended. */
import { mayBeStored } from '../errors.ts'
import type { Storage } from '../ports/storage.ts'
import type { Appended, EventStore } from '../audit-log/event-store.ts'

/** What a transaction notes as it goes; its last attempt counts. */
export interface Noted<T> {
  /** The last events it appended. */
  appended: Appended | undefined
  /** What its work came to. */
  answer: { readonly value: T } | undefined
}

/** Runs a transaction and answers what it answers; also where its end was not heard and its event turns out to be stored. Source: reliability, "Durability". */
export async function settlingCommit<T>(
  { storage, events }: { readonly storage: Storage; readonly events: EventStore },
  run: (noted: Noted<T>) => Promise<T>,
): Promise<T> {
  const noted: Noted<T> = { appended: undefined, answer: undefined }
  try {
    return await run(noted)
  } catch (error) {
    const { appended, answer } = noted
    if (appended === undefined || answer === undefined || !mayBeStored(error)) throw error
    // Where nobody can be asked either, it stays unknown.
    if (await events.isStored(storage, appended).catch(() => false)) return answer.value
    throw error
  }
}
