/** Time of the runtime: clock, stopwatch, timer, and the event loop of Node. */
import type { Clock, Scheduler, Stopwatch, Timer } from '../../core/ports/time.ts'

const NANOSECONDS_PER_MILLISECOND = 1_000_000n

/** Returns a clock for a source of milliseconds since 1970. */
export function createClock(milliseconds: () => number): Clock {
  let last = 0n
  return {
    now() {
      const wall = BigInt(Math.floor(milliseconds())) * NANOSECONDS_PER_MILLISECOND
      // Strictly rising within the process, even if the wall clock is set back, because times order events.
      last = wall > last ? wall : last + 1n
      return last
    },
  }
}

/** The default clock. */
export const systemClock: Clock = createClock(Date.now)

/** The default scheduler. It yields by `setImmediate`, which runs after pending input and output. */
export const systemScheduler: Scheduler = {
  yield: () =>
    new Promise((resolve) => {
      setImmediate(resolve)
    }),
}

/** The default stopwatch. */
export const systemStopwatch: Stopwatch = { now: () => performance.now() }

/** Maximum delay of a timer of Node, in milliseconds. A longer one would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1

/** The default timer. */
export const systemTimer: Timer = {
  after(milliseconds, callback, keepsAlive = false) {
    const timer = setTimeout(callback, Math.min(milliseconds, MAX_DELAY_MS))
    if (!keepsAlive) timer.unref()
    return () => clearTimeout(timer)
  },
}
