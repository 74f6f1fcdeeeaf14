/** Long work that its caller watches: a signal ends it, and a callback receives how far it has come. */

import { Fault } from '../errors.ts'
import { withVerbOf } from '../execution/perform.ts'
import { type OnProgress, parseOnProgress, type ReportProgress, type RunCallback, readInput } from '../util/boundary.ts'
import { assertOptions } from '../util/options.ts'
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

/** The call of a work: its verb in errors, and its options as they were given. */
export interface WatchedCall<Options extends WatchOptions> {
  readonly verb: string
  readonly given: Options | undefined
  /** The names of the options that it has besides. Default: none. */
  readonly others?: readonly (keyof Options & string)[]
}

/** The call, and the function that runs callbacks. */
interface Watched<Options extends WatchOptions> extends WatchedCall<Options> {
  readonly run: RunCallback
}

/**
 * Runs the work with its options, and puts its verb before its faults. Throws `invalid_request` for other options: a misspelled one would
 * have no effect. Throws `cancelled` if the signal is aborted already.
 */
export async function watched<T, Options extends WatchOptions>(
  { verb, given, others = [], run }: Watched<Options>,
  work: (watch: Watch, options: Partial<Options>) => Promise<T>,
): Promise<T> {
  try {
    const { watch, options } = readInput(() => {
      const options: unknown = given === undefined ? {} : given
      assertOptions<Partial<Options>>(options, ['signal', 'onProgress', ...others])
      const copy = { ...options }
      return { watch: { signal: parseSignal(copy.signal), report: parseOnProgress(copy.onProgress, run) }, options: copy }
    })
    assertNotAborted(watch.signal)
    return await work(watch, options)
  } catch (error) {
    throw Fault.isFault(error) ? withVerbOf({ verb }, error) : error
  }
}
