/** Stopwatch of the runtime. */
import type { Stopwatch } from '../../core/ports/time.ts'

/** The default stopwatch. */
export const systemStopwatch: Stopwatch = { now: () => performance.now() }
