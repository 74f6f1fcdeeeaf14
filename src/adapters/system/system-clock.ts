/** The clock of the operating system, made strictly rising. */
import type { Clock } from '../../core/ports/time.ts'

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
