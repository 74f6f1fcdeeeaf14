/** Runs slow work over stored rows in slices that each commit, so that it pauses, reports, and can be stopped and run again. */
import type { Scheduler } from '../ports/scheduler.ts'

/** Slow work, a slice at a time. It knows its tables and lives beside them. */
export interface MaintenancePass {
  /** Does one slice and commits it. Returns how many rows it changed, and whether it was the last. A pass that runs again continues where it stopped. */
  slice(): Promise<{ readonly rows: number; readonly isLast: boolean }>
}

/** How a pass is run. */
export interface PassOptions {
  readonly scheduler: Scheduler
  /** Called after each slice with the rows changed so far. */
  onProgress?(rows: number): void
}

/** Runs a pass to its end and returns how many rows it changed. Other work of the event loop runs between two slices. */
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
