/** Takes turns of the event loop outside the transactions that must end without one. Source: docs/inside/commits.md. */

import type { StorageHandle } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'

/** Returns the scheduler. Inside a transaction of the storage that must not turn it takes no turn: work goes on at once. */
export function turnsOutside({ mustNotTurn }: Pick<StorageHandle, 'mustNotTurn'>, scheduler: Scheduler): Scheduler {
  if (mustNotTurn === undefined) return scheduler
  return { mustNotTurn, yield: () => (mustNotTurn() ? NO_TURN : scheduler.yield()) }
}

const NO_TURN: Promise<void> = Promise.resolve()
