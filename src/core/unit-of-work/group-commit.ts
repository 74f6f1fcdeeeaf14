/** Gathers what is asked for in one turn of the event loop and hands it on as one list, so that many share one commit. */
import type { Scheduler } from '../ports/scheduler.ts'

/** Hands on a list; resolves when all of it is stored, and rejects when none of it is. */
export type Send<T> = (items: readonly T[]) => Promise<void>

/** What may go together, and how much of it. */
export interface Company<T> {
  readonly scheduler: Scheduler
  /** What an item counts for, and what a list may count for in all. */
  weigh(item: T): number
  readonly most: number
  /** True when a failed list's items are each to be tried alone, so that only the one at fault fails. */
  isOnesOwnFault(error: unknown): boolean
}

/** One item of a list, and how it ends. */
interface Waiting<T> {
  readonly item: T
  stored(): void
  failed(error: unknown): void
}

/**
 * One item's way in. A list leaves at the end of the turn it was begun in and never waits for the answer to an earlier
 * one: that answer may hang on a lock held by somebody who waits for this very item.
 */
export function commitTogether<T>(
  send: Send<T>,
  { scheduler, weigh, most, isOnesOwnFault }: Company<T>,
): (item: T) => Promise<void> {
  let gathering: Waiting<T>[] = []
  let weight = 0

  async function leave(list: readonly Waiting<T>[]): Promise<void> {
    try {
      await send(list.map(({ item }) => item))
      for (const { stored } of list) stored()
    } catch (error) {
      for (const { failed } of list) failed(list.length > 1 && isOnesOwnFault(error) ? GO_ALONE : error)
    }
  }

  function begin(): Waiting<T>[] {
    const list: Waiting<T>[] = []
    gathering = list
    weight = 0
    void scheduler.turn().then(() => {
      if (gathering === list) gathering = []
      return leave(list)
    })
    return list
  }

  function join(item: T): Promise<void> {
    return new Promise((stored, failed) => {
      const own = weigh(item)
      const list = gathering.length > 0 && weight + own <= most ? gathering : begin()
      list.push({ item, stored, failed })
      weight += own
    })
  }

  return async (item) => {
    try {
      await join(item)
    } catch (error) {
      // Sent from here, it is sent in the asynchronous context of its own caller, which engines may look at.
      if (error !== GO_ALONE) throw error
      await send([item])
    }
  }
}

/** Tells a caller whose list failed for somebody's own fault to try alone. */
const GO_ALONE = new Error('the list failed, and each of it is to be tried alone')
