/** Gives the event loop its turns within long work: after a few milliseconds, or after a number of bytes where the clock is coarse. */
import type { Clock, Scheduler } from '../ports/time.ts'

/** Long work, which says what it has done. */
export interface Yielder {
  /** Call after each part of the work, with its bytes where they decide how long it takes. Yields to the event loop if that is due. */
  worked(bytes?: number): Promise<void>
}

/** Work between two yields: whichever of both is reached first. A part of the work can exceed it by its own length. */
const MAX_BLOCK_NS = 5_000_000n
const MAX_BLOCK_BYTES = 256 * 1024

/** Creates the yielder of work that begins now. */
export function createYielder({ clock, scheduler }: { readonly clock: Clock; readonly scheduler: Scheduler }): Yielder {
  let began = clock.now()
  let done = 0
  return {
    async worked(bytes = 0) {
      done += bytes
      if (done < MAX_BLOCK_BYTES && clock.now() - began < MAX_BLOCK_NS) return
      await scheduler.yield()
      began = clock.now()
      done = 0
    },
  }
}
