/** Resolves in-doubt commits: if storage is lost during COMMIT, looks up the last audit event of the transaction. */
import { type AppendedEvents, CHAIN_CONFLICT, type EventStore, type NextEvents } from '../audit-log/event-store.ts'
import { isVaultError, mayBeStored } from '../errors.ts'
import type { Storage } from '../ports/storage.ts'
import { AUDIT_EVENTS } from '../schema/system-tables.ts'

/** The progress of the last attempt of a transaction. */
export interface CommitProgress<T> {
  /** The last events it appended. */
  appended: AppendedEvents | undefined
  /** The result of its work. */
  result: { readonly value: T } | undefined
}

/** The storage of a vault and its events. */
interface InDoubtPorts {
  readonly storage: Storage
  readonly events: EventStore
}

/**
 * Runs a transaction and returns its result. If the outcome of COMMIT is unknown but its event is stored, it committed, and the result
 * is returned. If storage cannot be read either, throws the error of the transaction. Source: docs/security.md.
 */
export async function resolveInDoubtCommit<T>(ports: InDoubtPorts, run: (progress: CommitProgress<T>) => Promise<T>): Promise<T> {
  const progress: CommitProgress<T> = { appended: undefined, result: undefined }
  try {
    return await run(progress)
  } catch (error) {
    const { appended, result } = progress
    if (appended === undefined || result === undefined) throw error
    await assertStored(ports, appended, error)
    return result.value
  }
}

/** Throws the error of the commit that appended events, unless the outcome of the commit is unknown and they are stored. */
async function assertStored({ storage, events }: InDoubtPorts, appended: AppendedEvents, error: unknown): Promise<void> {
  if (!mayBeStored(error) || !(await events.isStored(storage, appended).catch(() => false))) throw error
}

/** Forgets the head of events whose one call failed, and throws: CHAIN_CONFLICT if another chain must be used, else the error, unless they are stored. */
export async function resolveNext(ports: InDoubtPorts, { undo, appended }: NextEvents, error: unknown): Promise<void> {
  undo()
  if (isAuditConflict(error)) throw CHAIN_CONFLICT
  await assertStored(ports, appended, error)
}

/** True if a row of the audit trail has the id of a new event: the chain was changed in the database. */
function isAuditConflict(error: unknown): boolean {
  return isVaultError(error, 'conflict') && error.details[0]?.table === AUDIT_EVENTS.name
}
