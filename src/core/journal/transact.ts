/** Work in a transaction, ours or the application's, with a journal whose events stand and fall with it. */
import { isVaultError } from '../errors.ts'
import type { Log } from '../ports/log.ts'
import type { Storage, StorageHandle } from '../ports/storage.ts'
import type { EventStore } from './event-store.ts'
import { innerJournal, ToldInside } from './inner-journal.ts'
import type { Journal } from './journal.ts'
import type { Lanes, TakeLane } from './lanes.ts'
import { untilKept } from './lanes.ts'
import type { Noted } from './settle-commit.ts'
import { settlingCommit } from './settle-commit.ts'

/** What transactions are made of; without `events` nothing is recorded. */
export interface TransactionPorts {
  readonly storage: StorageHandle
  readonly lanes: Lanes
  readonly events: EventStore | undefined
  /** Where events go that a rollback must not take with it. */
  readonly journal: Journal
  readonly log: Log | undefined
}

/** Storage and journal inside a transaction. */
export interface Inside {
  readonly storage: Storage
  readonly journal: Journal
}

/**
 * Runs work in one transaction. If it is undone, what was read, refused and failed inside is told once more outside, and what
 * was changed is told as undone: nobody reads unseen by rolling back. Work may run again.
 */
export async function transact<T>(ports: TransactionPorts, work: (inside: Inside) => Promise<T>): Promise<T> {
  const { storage, lanes, events } = ports
  const attempts: ToldInside[] = []
  let isUndone = true
  const attempt = (first: number, another: TakeLane, noted?: Noted<T>): Promise<T> =>
    storage.transaction(async (inner) => {
      const told = new ToldInside()
      attempts.push(told)
      let lane = first
      const append = async (within: Storage, drafts: Parameters<EventStore['append']>[2]): Promise<void> => {
        const appended = await events?.append(within, lane, drafts)
        if (noted !== undefined) noted.appended = appended
      }
      const journal = innerJournal({ storage: inner, events, append, told })
      const giveUp = async (): Promise<void> => {
        lane = await another(inner)
      }
      const value = await work({ storage: inner, journal: changingLanes(journal, giveUp) })
      if (noted !== undefined) noted.answer = { value }
      return value
    })
  const recorded = (within: EventStore): Promise<T> =>
    lanes.use((lane, another) => settlingCommit({ storage, events: within }, (noted: Noted<T>) => attempt(lane, another, noted)))
  try {
    const answer = await (events === undefined ? attempt(0, async () => 0) : recorded(events))
    attempts.pop()
    return answer
  } catch (error) {
    isUndone = !isVaultError(error, 'unavailable')
    throw error
  } finally {
    await tellFailed(ports, attempts, isUndone)
  }
}

async function tellFailed({ journal, log }: TransactionPorts, attempts: readonly ToldInside[], isUndone: boolean): Promise<void> {
  const last = attempts.length - 1
  const events = attempts.flatMap((told, index) => told.afterFailure(isUndone || index < last))
  const results = await Promise.allSettled(events.map((event) => journal.note(event)))
  const lost = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  if (lost.length === 0) return
  const code = isVaultError(lost[0]) ? lost[0].code : 'internal'
  log?.error({ events: lost.length, code }, 'audit events of an undone transaction not stored')
}

/** Storage and journal inside a transaction the application opened: all its events go with it, for only the application knows its end. */
export function joinHost({ storage, lanes, events }: TransactionPorts, hostTransaction: unknown): Inside {
  const joined = storage.joinTransaction(hostTransaction)
  let lent: ReturnType<Lanes['lend']> | undefined
  const journal = innerJournal({
    storage: joined,
    events,
    told: new ToldInside(),
    async append(within, drafts) {
      lent ??= lanes.lend(within)
      const { lane, wrote } = await lent
      const appended = await events?.append(within, lane, drafts)
      if (appended !== undefined) wrote(appended.sequence)
    },
  })
  const giveUp = async (): Promise<void> => {
    lent = undefined
  }
  return { storage: joined, journal: changingLanes(journal, giveUp) }
}

/**
 * Where a lane is lost the call that lost it begins again, in another. The transaction around it is the application's work,
 * which would hear of a conflict that is none of its own.
 */
function changingLanes(journal: Journal, giveUp: () => Promise<void>): Journal {
  return {
    insert: (batches, event) => untilKept(() => journal.insert(batches, event), giveUp),
    change: (work, describe) => untilKept(() => journal.change(work, describe), giveUp),
    note: (event) => untilKept(() => journal.note(event), giveUp),
  }
}
