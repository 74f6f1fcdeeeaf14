/** The system's clock, which never returns the same moment twice. */
import type { Clock } from '../../core/ports/clock.ts'

const NANOSECONDS_PER_MILLISECOND = 1_000_000n

/** A clock over a source of milliseconds since 1970. */
export function createClock(milliseconds: () => number): Clock {
  let last = 0n
  return {
    now() {
      const wall = BigInt(Math.floor(milliseconds())) * NANOSECONDS_PER_MILLISECOND
      // Strictly rising within the process, also while the wall clock is set back: moments put events in order.
      last = wall > last ? wall : last + 1n
      return last
    },
  }
}

/** The clock every vault uses unless it is given another. */
export const systemClock: Clock = createClock(Date.now)
