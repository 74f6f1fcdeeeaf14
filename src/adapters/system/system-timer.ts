/** Timer of Node. */
import type { Timer } from '../../core/ports/time.ts'

/** Maximum delay of a timer of Node, in milliseconds. A longer one would fire at once. */
const MAX_DELAY_MS = 2 ** 31 - 1

/** The default timer. */
export const systemTimer: Timer = {
  after(milliseconds, callback, keepsAlive = false) {
    const timer = setTimeout(callback, Math.min(milliseconds, MAX_DELAY_MS))
    if (!keepsAlive) timer.unref()
    return () => clearTimeout(timer)
  },
}
