/** The dependencies of reading records, besides storage. */
import type { Barrier } from '../barrier/barrier.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import type { Layout } from '../schema/layout.ts'

/** The dependencies of reading records and resolving tokens. */
export interface ReadingContext {
  readonly barrier: Barrier
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly layout: Layout
}
