/** Where every operation is told: changes and their events in one transaction, in a lane of their own; those that come together share it. */
import type { EventDraft } from '../audit/event.ts'
import { SUCCESS } from '../audit/outcome.ts'
import { isVaultError, mayBeStored } from '../errors.ts'
import type { Log } from '../ports/log.ts'
import type { Scheduler } from '../ports/scheduler.ts'
import type { Storage, StorageHandle } from '../ports/storage.ts'
import type { EventStore } from '../audit-log/event-store.ts'
import type { Lanes } from '../audit-log/chain-pool.ts'
import { untilKept } from '../audit-log/chain-pool.ts'
import type { Noted } from './in-doubt-commit.ts'
import { settlingCommit } from './in-doubt-commit.ts'
import { mergeBatches, shareInserts, shareNotes } from './merge-inserts.ts'
import { ToldInside } from './transaction-events.ts'
import type { Batch, Ground, Grounds, Storing, Tell } from './unit-of-work.ts'
import { groundOf, insertInOrder } from './unit-of-work.ts'

/** What telling takes. */
export interface RecordedPorts {
  readonly storage: StorageHandle
  readonly scheduler: Scheduler
  readonly lanes: Lanes
  readonly events: EventStore
  readonly log: Log | undefined
}

export function recordedGrounds(ports: RecordedPorts): Grounds {
  const outer = storingOutside(ports)
  return {
    outer: groundOf(outer),
    transact: (work) => transact(ports, outer, work),
    join: (hostTransaction) => joinHost(ports, hostTransaction),
  }
}

/** Outside any transaction: each change has one of its own, small inserts and lone events share one with whoever comes in the same turn. */
function storingOutside({ storage, scheduler, lanes, events }: RecordedPorts): Storing {
  async function within<T>(work: (storage: Storage) => Promise<T>, tell: () => readonly EventDraft[]): Promise<T> {
    return lanes.use((lane) =>
      settlingCommit({ storage, events }, (noted: Noted<T>) =>
        storage.transaction(async (inner) => {
          const value = await work(inner)
          noted.appended = await events.append(inner, lane, tell())
          noted.answer = { value }
          return value
        }),
      ),
    )
  }
  const insert = shareInserts<{ readonly batches: readonly Batch[]; readonly event: EventDraft }>(scheduler, (inserts) =>
    within(
      (inner) => insertInOrder(inner, mergeBatches(inserts)),
      () => inserts.map(({ event }) => event),
    ),
  )
  const note = shareNotes<EventDraft>(scheduler, (drafts) =>
    within(
      async () => {},
      () => drafts,
    ),
  )
  return {
    storage,
    insert: (batches, tell) => insert({ batches, event: tell(SUCCESS) }),
    change: (work, tell) => within(work, () => [tell(SUCCESS)]),
    note,
  }
}

/**
 * Runs work in one transaction. If it is undone, what was read, refused and failed inside is told once more outside, and what
 * was changed is told as undone: nobody reads unseen by rolling back. Work may run again.
 */
async function transact<T>(ports: RecordedPorts, outer: Storing, work: (ground: Ground) => Promise<T>): Promise<T> {
  const { storage, lanes, events } = ports
  const attempts: ToldInside[] = []
  let isUndone = true
  try {
    const answer = await lanes.use((first, another) =>
      settlingCommit({ storage, events }, (noted: Noted<T>) =>
        storage.transaction(async (inner) => {
          const told = new ToldInside()
          attempts.push(told)
          let lane = first
          const ground = groundInside({
            storage: inner,
            told,
            async append(within, event) {
              noted.appended = await events.append(within, lane, [event])
            },
            async giveUp() {
              lane = await another(inner)
            },
          })
          const value = await work(ground)
          noted.answer = { value }
          return value
        }),
      ),
    )
    attempts.pop()
    return answer
  } catch (error) {
    isUndone = !mayBeStored(error)
    throw error
  } finally {
    await tellFailed(outer, ports.log, attempts, isUndone)
  }
}

async function tellFailed(
  outer: Storing,
  log: Log | undefined,
  attempts: readonly ToldInside[],
  isUndone: boolean,
): Promise<void> {
  const last = attempts.length - 1
  const events = attempts.flatMap((told, index) => told.afterFailure(isUndone || index < last))
  const results = await Promise.allSettled(events.map((event) => outer.note(event)))
  const lost = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  if (lost.length === 0) return
  const code = isVaultError(lost[0]) ? lost[0].code : 'internal'
  log?.error({ events: lost.length, code }, 'audit events of an undone transaction not stored')
}

/** Inside a transaction the application opened: all its events go with it, for only the application knows its end. */
function joinHost({ storage, lanes, events }: RecordedPorts, hostTransaction: unknown): Ground {
  let lent: ReturnType<Lanes['lend']> | undefined
  return groundInside({
    storage: storage.joinTransaction(hostTransaction),
    told: new ToldInside(),
    async append(within, event) {
      lent ??= lanes.lend(within)
      const { lane, wrote } = await lent
      wrote((await events.append(within, lane, [event])).sequence)
    },
    async giveUp() {
      lent = undefined
    },
  })
}

/** A transaction under way, and where its events go. */
interface Inside {
  readonly storage: Storage
  readonly told: ToldInside
  /** Appends to the transaction's lane. */
  append(storage: Storage, event: EventDraft): Promise<void>
  /** Leaves a lane that is lost. */
  giveUp(): Promise<void>
}

/**
 * Every call runs in a savepoint: a change that fails and is caught undoes itself alone, and appends never interleave. Where a
 * lane is lost the call that lost it begins again, in another: the transaction around it is the application's work, which
 * would hear of a conflict that is none of its own.
 */
function groundInside({ storage, told, append, giveUp }: Inside): Ground {
  async function change<T>(work: (storage: Storage) => Promise<T>, tell: Tell): Promise<T> {
    const answer = await untilKept(
      () =>
        storage.transaction(async (inner) => {
          const found = await work(inner)
          await append(inner, tell(SUCCESS))
          return found
        }),
      giveUp,
    )
    told.changed(tell)
    return answer
  }
  return groundOf({
    storage,
    change,
    insert: (batches, tell) => change((inner) => insertInOrder(inner, batches), tell),
    async note(event) {
      told.note(event)
      await untilKept(() => storage.transaction((inner) => append(inner, event)), giveUp)
    },
  })
}
