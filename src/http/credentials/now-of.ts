/** The time of the host, or of the clock that it passes. */
import type { Clock } from '../../index.ts'

const NANOSECONDS_PER_MILLISECOND = 1_000_000n

/** Returns the time of a clock. Default: the clock of the system. */
export function nowOf(clock: Clock | undefined): Date {
  return new Date(clock === undefined ? Date.now() : Number(clock.now() / NANOSECONDS_PER_MILLISECOND))
}
