/** Waits for work, but not for ever. */
import { setTimeout as pause } from 'node:timers/promises'

/** Resolves to what the work resolves to, or to `late` after so many milliseconds. Throws what the work throws. */
export async function inTime<T, Late>(work: Promise<T>, limitMs: number, late: Late): Promise<T | Late> {
  const isOver = new AbortController()
  try {
    return await Promise.race([work, pause(limitMs, late, { signal: isOver.signal })])
  } finally {
    isOver.abort()
  }
}
