/** Work that is done a slice at a time while something else is waited for, such as a storage in another process. */
import type { Yielder } from '../maintenance/yielder.ts'
import type { Scheduler } from '../ports/time.ts'

/** How work gives the event loop its turns. */
export interface TurnTaking {
  readonly scheduler: Scheduler
  readonly yielder: Yielder
}

/**
 * Resolves when `waited` has resolved and all work is done. `workSome` does a slice of it, and returns false after the last one; the event loop
 * has a turn between two slices. If waiting takes longer than a turn, the work begins in that time, else after it. Rejects like `waited`, whatever
 * the work did, and no further slice is done then. A slice that throws is done again after `waited`. A storage that answers at once has held the event
 * loop itself, so a slice after it waits for a turn.
 */
export async function meanwhile(
  { scheduler, yielder }: TurnTaking,
  waited: Promise<void>,
  workSome: () => boolean,
): Promise<void> {
  let isOver = false
  let isDone = false
  async function workEarly(): Promise<void> {
    while (!isDone) {
      // What is waited for is sent within this turn, and the work would hold it up.
      await scheduler.yield()
      if (isOver) return
      isDone = !workSome()
    }
  }
  workEarly().catch(() => {})
  try {
    await waited
  } finally {
    isOver = true
  }
  await yielder.worked()
  if (!isDone) await workInTurns(scheduler, workSome)
}

/** Does all work, with a turn of the event loop between two slices. */
export async function workInTurns(scheduler: Scheduler, workSome: () => boolean): Promise<void> {
  while (workSome()) await scheduler.yield()
}
