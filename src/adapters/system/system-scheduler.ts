/** Scheduler for the event loop of Node. */
import type { Scheduler } from '../../core/ports/time.ts'

/** The default scheduler. It yields by `setImmediate`, which runs after pending input and output. */
export const systemScheduler: Scheduler = {
  yield: () =>
    new Promise((resolve) => {
      setImmediate(resolve)
    }),
}
