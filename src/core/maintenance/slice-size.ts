/** The size of slices inside one operation: as many rows at once as a few milliseconds allow, and a turn of the event loop between. */
import type { Clock, Scheduler } from '../ports/time.ts'

/** The number of rows of the next slice, and the end of a slice. */
export interface Slicing {
  size(): number
  /** Adapts the size to the time that the slice took, and yields to the event loop. */
  endSlice(): Promise<void>
}

/** Bounds in nanoseconds: slices that take less grow, and those that take more shrink. */
const SHORT_NS = 3_000_000n
const LONG_NS = 8_000_000n
/** Rows of the first slice. It is small, because each row can be large. */
const FIRST_SIZE = 16
const MAX_SIZE = 1000

/** Creates the slicing of work that begins now. */
export function createSlicing({ clock, scheduler }: { readonly clock: Clock; readonly scheduler: Scheduler }): Slicing {
  let size = FIRST_SIZE
  let began = clock.now()
  return {
    size: () => size,
    async endSlice() {
      size = nextSize(size, clock.now() - began)
      await scheduler.yield()
      began = clock.now()
    },
  }
}

function nextSize(size: number, tookNs: bigint): number {
  if (tookNs > LONG_NS) return Math.max(1, size >> 1)
  return tookNs < SHORT_NS ? Math.min(MAX_SIZE, size * 2) : size
}
