/** Runs slow work over stored rows in slices that commit one by one. The work can be stopped after a slice and run again. */
import type { Scheduler } from '../ports/scheduler.ts'

/** Slow work, divided into slices. */
export interface MaintenancePass {
  /** Does and commits one slice. Returns the number of rows changed, and whether it was the last slice. A pass that runs again continues where it stopped. */
  slice(): Promise<{ readonly rows: number; readonly isLast: boolean }>
}

/** Options of a run. */
export interface PassOptions {
  readonly scheduler: Scheduler
  /** Called after each slice with the number of rows changed so far. */
  onProgress?(rows: number): void
}

/** Runs a pass to its end. Returns the number of rows changed. Yields to the event loop between two slices. */
export async function runPass(pass: MaintenancePass, { scheduler, onProgress }: PassOptions): Promise<number> {
  let total = 0
  for (;;) {
    const { rows, isLast } = await pass.slice()
    total += rows
    onProgress?.(total)
    if (isLast) return total
    await scheduler.yield()
  }
}
