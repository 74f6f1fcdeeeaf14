/** Long work that its caller watches: a signal ends it, and a callback receives how far it has come. */
import { Fault } from '../errors.ts'
import { withVerbOf } from '../execution/operation-errors.ts'
import { type RunCallback, readInput } from '../util/boundary.ts'
import { assertNoNulls } from '../util/null-options.ts'
import { type OnProgress, parseOnProgress, type ReportProgress } from '../util/progress.ts'
import { assertNotAborted, parseSignal, type Signal } from '../util/signal.ts'

/** Options of long work. */
export interface WatchOptions {
  /** An `AbortSignal`. When it is aborted, the work throws `cancelled` before its next step. */
  readonly signal?: Signal
  /** Called after each step, and awaited. Its error ends the work, and is thrown unchanged. */
  readonly onProgress?: OnProgress
}

/** What the work does for its caller. */
export interface Watch {
  readonly signal: Signal | undefined
  readonly report: ReportProgress
}

/** The work: its verb in errors, its options as they were given, and the function that runs callbacks. */
interface Watched {
  readonly verb: string
  readonly given: WatchOptions | undefined
  readonly run: RunCallback
}

/** Runs the work, and puts its verb before its faults. Throws `invalid_request` for other options, `cancelled` if the signal is aborted already. */
export async function watched<T>({ verb, given, run }: Watched, work: (watch: Watch) => Promise<T>): Promise<T> {
  try {
    const watch = readInput(() => {
      const options: WatchOptions = { ...given }
      assertNoNulls(options)
      const { signal, onProgress } = options
      return { signal: parseSignal(signal), report: parseOnProgress(onProgress, run) }
    })
    assertNotAborted(watch.signal)
    return await work(watch)
  } catch (error) {
    throw Fault.isFault(error) ? withVerbOf({ verb }, error) : error
  }
}
