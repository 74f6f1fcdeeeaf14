/** How far long work has come, as it is reported to the caller. */
import { fault } from '../errors.ts'
import type { RunCallback } from './boundary.ts'

/** How far the work has come. Its method says what is counted. */
export interface Progress {
  readonly done: number
  /** As counted at the start, so it can differ from what is done at the end. Absent if it is not known. */
  readonly total?: number
}

/** A callback of the caller. It is awaited between two steps of the work; what it throws ends the work, and is thrown to the caller unchanged. */
export type OnProgress = (progress: Progress) => unknown

/** Reports progress to the caller; undefined if the caller does not ask for it. */
export type ReportProgress = ((progress: Progress) => Promise<void>) | undefined

/** Returns the function that reports. Throws `invalid_request` for anything but a function: calling it would throw as if it were the callback's own error. */
export function parseOnProgress(given: unknown, run: RunCallback): ReportProgress {
  if (given === undefined) return undefined
  if (!isOnProgress(given)) throw fault('invalid_request')`onProgress must be a function.`
  return (progress) =>
    run(async () => {
      await given(progress)
    })
}

function isOnProgress(given: unknown): given is OnProgress {
  return typeof given === 'function'
}
