/** Resolves commits in doubt: where the storage is lost during COMMIT, the transaction's own last event says whether it committed. */
import type { AppendedEvents, EventStore } from '../audit-log/event-store.ts'
import { mayBeStored } from '../errors.ts'
import type { Storage } from '../ports/storage.ts'

/** What a transaction has done so far; its last attempt counts. */
export interface CommitProgress<T> {
  /** The last events it appended. */
  appended: AppendedEvents | undefined
  /** The result of its work. */
  result: { readonly value: T } | undefined
}

/**
 * Runs a transaction and returns its result, also where its end was not heard and its event is found in storage. Where storage
 * cannot be asked either, the error of the transaction is thrown and the outcome stays unknown. Source: docs/security.md.
 */
export async function resolveInDoubtCommit<T>(
  { storage, events }: { readonly storage: Storage; readonly events: EventStore },
  run: (progress: CommitProgress<T>) => Promise<T>,
): Promise<T> {
  const progress: CommitProgress<T> = { appended: undefined, result: undefined }
  try {
    return await run(progress)
  } catch (error) {
    const { appended, result } = progress
    if (appended === undefined || result === undefined || !mayBeStored(error)) throw error
    if (await events.isStored(storage, appended).catch(() => false)) return result.value
    throw error
  }
}
