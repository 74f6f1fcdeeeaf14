/** Resolves in-doubt commits: if storage is lost during COMMIT, looks up the last audit event of the transaction. */
import type { AppendedEvents, EventStore } from '../audit-log/event-store.ts'
import { mayBeStored } from '../errors.ts'
import type { Storage } from '../ports/storage.ts'

/** The progress of the last attempt of a transaction. */
export interface CommitProgress<T> {
  /** The last events it appended. */
  appended: AppendedEvents | undefined
  /** The result of its work. */
  result: { readonly value: T } | undefined
}

/**
 * Runs a transaction and returns its result. If the outcome of COMMIT is unknown but its event is stored, it committed, and the result
 * is returned. If storage cannot be read either, throws the error of the transaction. Source: docs/security.md.
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
