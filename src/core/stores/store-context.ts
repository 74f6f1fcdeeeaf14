/** What the stores are handed: storage, the barrier, the live tables, and the time. */
import type { Barrier } from '../barrier/barrier.ts'
import type { Commit } from '../journal/commit.ts'
import type { Clock } from '../ports/clock.ts'
import type { Storage } from '../ports/storage.ts'
import type { Layout } from '../schema/layout.ts'

/** The part of an operation's context that the stores touch. */
export interface StoreContext {
  readonly storage: Storage
  readonly barrier: Barrier
  readonly clock: Clock
  readonly layout: Layout
  /** How changes of records reach storage. */
  readonly commit: Commit
}

/** Now, in milliseconds since 1970. */
export function nowMs({ clock }: Pick<StoreContext, 'clock'>): number {
  return Number(clock.now() / 1_000_000n)
}
