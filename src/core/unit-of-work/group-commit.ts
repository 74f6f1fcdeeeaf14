/** Group commit: gathers items of one event-loop turn and sends them as one list, so that many callers share one commit. */
import type { Scheduler } from '../ports/time.ts'
import { createTurnSaver } from '../util/time.ts'
import type { OnCommit } from './note-commit.ts'

/** Stores a list of items, all or none. Resolves when they are stored. */
export type Send<T> = (items: readonly T[]) => Promise<void>

/** The turns of the event loop, and who else acts in them. */
export interface EventLoopTurns {
  readonly scheduler: Scheduler
  /** True if no call is in progress besides the one that asks. */
  isAlone(): boolean
  readonly onCommit?: OnCommit
}

/** Options of a group commit. */
export interface GroupCommitOptions<T> extends EventLoopTurns {
  /** Returns the weight of an item, such as its number of rows. */
  weightOf(item: T): number
  /** Maximum weight of a list. */
  readonly maxWeight: number
  /** True if an item of a failed list is to be sent alone, so that only the ones fail that the error is about. */
  retriesAlone(error: unknown, item: T): boolean
}

/** One item of a list, and the functions that settle the promise of its caller. */
interface Waiting<T> {
  readonly item: T
  stored(): void
  failed(error: unknown): void
}

/**
 * Turns that a list of several items waits for at most, while each of them brings another item. Requests of many connections arrive in
 * turns that follow each other, and a commit costs as much as many turns.
 */
const MAX_FURTHER_TURNS = 8

/**
 * Returns a function that adds one item. A list is sent at the end of the event-loop turn that opened it, or after the turns that added
 * more items, or at once for a call that is alone, as those before it were. It never waits for the list before: that one may be blocked by
 * a lock whose holder waits for this item. Source: docs/inside/commits.md.
 */
export function createGroupCommit<T>(
  send: Send<T>,
  { scheduler, isAlone, weightOf, maxWeight, retriesAlone }: GroupCommitOptions<T>,
): (item: T) => Promise<void> {
  let gathering: Waiting<T>[] = []
  let weight = 0
  const turns = createTurnSaver()

  async function sendList(list: readonly Waiting<T>[]): Promise<void> {
    try {
      await send(list.map(({ item }) => item))
      for (const { stored } of list) stored()
    } catch (error) {
      for (const { item, failed } of list) failed(list.length > 1 && retriesAlone(error, item) ? RETRY_ALONE : error)
    }
  }

  function begin(): Waiting<T>[] {
    const list: Waiting<T>[] = []
    gathering = list
    weight = 0
    const end = () => {
      if (gathering === list) gathering = []
      turns.noteLength(list.length)
      return sendList(list)
    }
    // The list is sent even if the scheduler fails, because its callers wait for it.
    void gathered(list).then(end, end)
    return list
  }

  /** Resolves after the turn of the list. If it has several items then, resolves after the first turn without another one. */
  async function gathered(list: readonly Waiting<T>[]): Promise<void> {
    await scheduler.yield()
    for (let known = 1, turn = 0; list.length > known && gathering === list && turn < MAX_FURTHER_TURNS; turn++) {
      known = list.length
      await scheduler.yield()
    }
  }

  function join(item: T): Promise<void> {
    return new Promise((stored, failed) => {
      const own = weightOf(item)
      const list = gathering.length > 0 && weight + own <= maxWeight ? gathering : begin()
      list.push({ item, stored, failed })
      weight += own
    })
  }

  /** Sends an item alone whose list failed. Sent here, it has the asynchronous context of its own caller, which engines can read. */
  function joinOrRetry(item: T): Promise<void> {
    return join(item).catch((error: unknown) => {
      if (error !== RETRY_ALONE) throw error
      return send([item])
    })
  }

  return (item) => (gathering.length === 0 && isAlone() && turns.saves() ? send([item]) : joinOrRetry(item))
}

/** Rejects an item of a failed list that must be sent alone. */
const RETRY_ALONE = new Error('the list failed; each of its items is sent alone')
