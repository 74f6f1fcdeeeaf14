/** The event loop of Node. */
import type { Scheduler } from '../../core/ports/scheduler.ts'

/** A turn ends with `setImmediate`, after timers and waiting input and output. */
export const systemScheduler: Scheduler = {
  yield: () =>
    new Promise((resolve) => {
      setImmediate(resolve)
    }),
}
