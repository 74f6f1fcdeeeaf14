/** How a copy of a whole vault is watched: what it reports, when it ends early, and how fast it goes. */
import type { OnProgress } from '../core/util/boundary.ts'
import { assertNotAborted, parseSignal, type Signal } from '../core/util/signal.ts'

/** Options of a copy. */
export interface CopyOptions {
  /** An `AbortSignal`. When it is aborted, the copy throws `cancelled` before its next step. */
  readonly signal?: Signal
  /** Called after each step with the rows that were copied, and while one waits for the pace, and awaited. Its error ends the copy, and is thrown unchanged. */
  readonly onProgress?: OnProgress
  /** Rows a second at most, so that other work of the databases keeps up. Default: as fast as it goes. */
  readonly pace?: number
}

/** The options of a copy, for `readOptions`. */
export const COPY_OPTIONS = ['signal', 'onProgress', 'pace'] as const satisfies readonly (keyof CopyOptions)[]

/** A step of many rows waits long for the pace. This often it reports, and looks at the signal, meanwhile. */
const WAIT_MS = 200

/** Watches one copy. */
export interface CopyWatch {
  /** Notes the number of rows to copy. */
  expect(total: number): void
  /** Notes rows that were copied, reports them, and waits as long as the pace says. Throws `cancelled` after an abort. */
  step(rows: number): Promise<void>
}

/** Returns the watch of a copy. */
export function createCopyWatch({ signal, onProgress, pace }: CopyOptions): CopyWatch {
  const parsed = parseSignal(signal)
  const began = performance.now()
  let done = 0
  let total = 0
  return {
    expect(rows) {
      total += rows
    },
    async step(rows) {
      done += rows
      for (;;) {
        await onProgress?.({ done, total: Math.max(done, total) })
        const ahead = pace === undefined ? 0 : (done / pace) * 1000 - (performance.now() - began)
        if (ahead > 0) await new Promise((resolve) => setTimeout(resolve, Math.min(ahead, WAIT_MS)))
        assertNotAborted(parsed)
        if (ahead <= WAIT_MS) return
      }
    },
  }
}
