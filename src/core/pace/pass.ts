/** Runs slow work over stored rows in slices that commit one by one. The work can be stopped after a slice and run again. */
import type { Scheduler } from '../ports/time.ts'
import { assertNotAborted, type Signal } from '../util/signal.ts'

/** Slow work, divided into slices. */
export interface MaintenancePass {
  /** Does and commits one slice. Returns the number of rows changed, and whether it was the last slice. A pass that runs again continues where it stopped. */
  slice(): Promise<{ readonly rows: number; readonly isLast: boolean }>
}

/** Options of a run. */
export interface PassOptions {
  readonly scheduler: Scheduler
  /** Throws `cancelled` before the next slice. What earlier ones committed stays. */
  readonly signal?: Signal | undefined
  /** Called after each slice with the number of rows changed so far, and awaited. Its error ends the pass. */
  onProgress?(rows: number): Promise<void> | void
}

/** Runs a pass to its end. Returns the number of rows changed. Yields to the event loop between two slices. */
export async function runPass(pass: MaintenancePass, { scheduler, signal, onProgress }: PassOptions): Promise<number> {
  let total = 0
  for (;;) {
    assertNotAborted(signal)
    const { rows, isLast } = await pass.slice()
    total += rows
    await onProgress?.(total)
    if (isLast) return total
    await scheduler.yield()
  }
}
