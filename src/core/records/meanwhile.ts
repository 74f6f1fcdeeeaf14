/** Work that is done while something else is waited for, such as a storage in another process. */
import type { Scheduler } from '../ports/scheduler.ts'

/**
 * Returns the result of `work` after `waited` has resolved. If that takes longer than a turn of the event loop, the work is done in that time,
 * else after it. Rejects like `waited`, whatever the work did, and its result is dropped. Work that throws is done again after `waited`.
 */
export async function meanwhile<T>(scheduler: Scheduler, waited: Promise<void>, work: () => T): Promise<T> {
  let made: { readonly value: T } | undefined
  let isOver = false
  async function workEarly(): Promise<void> {
    // What is waited for is sent within this turn, and the work would hold it up.
    await scheduler.yield()
    if (!isOver) made = { value: work() }
  }
  workEarly().catch(() => {})
  try {
    await waited
  } finally {
    isOver = true
  }
  return made === undefined ? work() : made.value
}
