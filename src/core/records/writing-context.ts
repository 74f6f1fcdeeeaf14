/** What the stores are handed: storage, the barrier, the live tables, and the time. */
import type { Barrier } from '../barrier/barrier.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import type { Clock } from '../ports/clock.ts'
import type { Layout, Table } from '../schema/layout.ts'

/** The part of an operation's context that the stores touch. */
export interface StoreContext {
  readonly unit: UnitOfWork
  readonly barrier: Barrier
  readonly clock: Clock
  readonly layout: Layout
}

/** The same for whoever writes: what he writes is told. */
export interface WritingContext extends StoreContext {
  readonly story: Telling
}

/** Is told which rows were written, each time in place of any named before: writing may have begun again. */
export interface Telling {
  writes(table: Table, rows: readonly number[]): void
}

/** Now, in milliseconds since 1970. */
export function nowMs({ clock }: Pick<StoreContext, 'clock'>): number {
  return Number(clock.now() / 1_000_000n)
}
