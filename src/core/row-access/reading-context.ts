/** What reading records uses beside storage, which is passed by hand. */
import type { Barrier } from '../barrier/barrier.ts'
import type { Clock } from '../ports/clock.ts'
import type { Layout } from '../schema/layout.ts'

/** Reads records and resolves tokens. */
export interface ReadingContext {
  readonly barrier: Barrier
  readonly clock: Clock
  readonly layout: Layout
}

/** The current time in milliseconds since 1970. */
export function nowMs({ clock }: Pick<ReadingContext, 'clock'>): number {
  return Number(clock.now() / 1_000_000n)
}
