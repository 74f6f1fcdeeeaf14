/** The event loop of Node. */
import type { Scheduler } from '../../core/ports/scheduler.ts'

/** A turn ends when `setImmediate` comes round: timers and waiting input and output were seen to by then. */
export const systemScheduler: Scheduler = {
  turn: () =>
    new Promise((resolve) => {
      setImmediate(resolve)
    }),
}
