/** Reads one row and stores the event of the read in one round trip, for a storage that can. Source: docs/inside/postgres.md. */
import type { ChainPool } from '../audit-log/chain-pool.ts'
import type { EventStore } from '../audit-log/event-store.ts'
import { isVaultError, VaultError } from '../errors.ts'
import type { StorageHandle } from '../ports/storage.ts'
import { bareCause } from '../util/causes.ts'
import { resolveNext } from './in-doubt-commit.ts'
import type { OnCommit } from './note-commit.ts'
import type { GetRecorded, RecordedRow } from './unit-of-work.ts'

/** The dependencies of recorded reads. */
export interface RecordedReadPorts {
  readonly storage: StorageHandle
  readonly chains: ChainPool
  readonly events: EventStore
  /** True if no call is in progress besides the one that asks: others would share a read and a commit. */
  isAlone(): boolean
  readonly onCommit?: OnCommit
}

/** Returns undefined for a storage without such a call. */
export function recordedReads({ storage, chains, events, isAlone, onCommit }: RecordedReadPorts): GetRecorded | undefined {
  if (storage.getAndCommit === undefined) return undefined

  async function getOn(chain: number, [table, id, event]: Parameters<GetRecorded>): Promise<RecordedRow | undefined> {
    const next = events.next(chain, { drafts: [event()], generation: undefined })
    if (next === undefined) return undefined
    try {
      const row = await storage.getAndCommit?.(table, id, next.changes)
      if (row) return { row, isRecorded: true }
      next.undo()
      return row === undefined ? { row, isRecorded: false } : undefined
    } catch (error) {
      await resolveNext({ storage, events }, next, error)
      return { row: (await storage.get(table, [id]))[0], isRecorded: true }
    }
  }

  return async (...read) => {
    if (!isAlone()) return undefined
    try {
      const found = await chains.withChain((chain) => getOn(chain, read))
      if (found?.isRecorded === true) onCommit?.(1)
      return found
    } catch (error) {
      // A read changes nothing, so it is not in doubt for its caller.
      if (isVaultError(error, 'outcome_unknown')) throw new VaultError('unavailable', LOST, {}, { cause: bareCause(error.code) })
      // The storage cannot be reached, as for any read. What else failed shows why when the event is stored after the read.
      if (isVaultError(error, 'unavailable')) throw error
      return undefined
    }
  }
}

const LOST = 'The connection was lost while the audit event was stored, so no result is returned. Check the storage, then retry.'
