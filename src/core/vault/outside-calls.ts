/**
 * Calls of a vault that belong to no session: long work that its caller watches, and transactions that run again after they lost to other
 * writers. `close()` waits for them, and inside a transaction they are refused.
 */

import { Fault, fault, isVaultError } from '../errors.ts'
import type { VaultLifetime } from '../execution/lifetime.ts'
import { withVerbOf } from '../execution/perform.ts'
import type { Watch } from '../maintenance/job.ts'
import type { Entropy } from '../ports/crypto.ts'
import type { StorageHandle } from '../ports/storage.ts'
import type { Timer } from '../ports/time.ts'
import { assertOutsideTransaction } from '../unit-of-work/unit-of-work.ts'
import { attempt, jitteredMs } from '../util/attempt.ts'
import { guardAround, type OnProgress, parseOnProgress, type RunCallback, readInput } from '../util/boundary.ts'
import { readU32 } from '../util/bytes.ts'
import { assertOptions } from '../util/options.ts'
import { assertNotAborted, parseSignal, type Signal } from '../util/signal.ts'

export interface OutsideCalls {
  /** Runs the work of a call. `failed` is the sentence of errors that are not its own. The work gets a function that runs callbacks of the application. */
  run<T>(failed: string, work: (run: RunCallback) => Promise<T>): Promise<T>
  /** Yields what a stream yields, which begins with the first item that is asked for. Its errors are thrown as they may leave the vault. */
  stream<T>(verb: string, begin: () => AsyncIterable<T>): AsyncIterable<T>
  /** Runs long work that its caller watches. */
  watch<T, Options extends WatchOptions>(
    call: WatchedCall<Options>,
    work: (watch: Watch, options: Partial<Options>) => Promise<T>,
  ): Promise<T>
}

export function createOutsideCalls(storage: StorageHandle, lifetime: VaultLifetime): OutsideCalls {
  const run: OutsideCalls['run'] = (failed, work) =>
    guardAround(failed, async (callback) => {
      assertOutsideTransaction(storage)
      return lifetime.run(async () => work(callback))
    })
  async function* stream<T>(verb: string, begin: () => AsyncIterable<T>): AsyncGenerator<T> {
    try {
      assertOutsideTransaction(storage)
      lifetime.assertOpen()
      yield* begin()
    } catch (error) {
      throw withVerbOf({ verb }, error)
    }
  }
  return {
    run,
    stream,
    watch: (call, work) => run(`${call.verb} failed.`, (callback) => watched({ ...call, run: callback }, work)),
  }
}

/** Options of long work. */
export interface WatchOptions {
  /** An `AbortSignal`. When it is aborted, the work throws `cancelled` before its next step. */
  readonly signal?: Signal
  /** Called after each step, and awaited. Its error ends the work, and is thrown unchanged. */
  readonly onProgress?: OnProgress
  /** Rows a second at most, or files, so that other work of the database and its replicas keep up. Default: as fast as it goes. */
  readonly pace?: number
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
      assertOptions<Partial<Options>>(options, ['signal', 'onProgress', 'pace', ...others])
      const copy = { ...options }
      const { signal, onProgress, pace } = copy
      const watch = { signal: parseSignal(signal), report: parseOnProgress(onProgress, run), pace: parsePace(pace) }
      return { watch, options: copy }
    })
    assertNotAborted(watch.signal)
    return await work(watch, options)
  } catch (error) {
    throw Fault.isFault(error) ? withVerbOf({ verb }, error) : error
  }
}

function parsePace(pace: unknown): number | undefined {
  if (pace === undefined || (typeof pace === 'number' && pace > 0 && pace < Number.POSITIVE_INFINITY)) return pace
  throw fault('invalid_request')`pace must be a number of rows a second, above 0.`
}

/** Options of `vault.transaction`. */
export interface VaultTransactionOptions {
  /**
   * Times that work runs again, from 0 to 100, after it failed with `aborted`: others changed a record that it had read, or the database ended a
   * deadlock. Default 3. With 0 it runs once: for work that does something outside of the vault.
   */
  readonly retries?: number
}

const DEFAULT_RETRIES = 3
const MAX_RETRIES = 100
/** The pause before the second run lasts up to 8 ms; the bound doubles before each further one. */
const PAUSE = { firstMs: 8, maxMs: 1024 }

/** Returns how often a transaction runs again. Throws `invalid_request`. */
export function parseRetries(options: unknown): number {
  return readInput(() => {
    if (options === undefined) return DEFAULT_RETRIES
    assertOptions<VaultTransactionOptions>(options, ['retries'])
    const { retries = DEFAULT_RETRIES } = options
    if (Number.isInteger(retries) && retries >= 0 && retries <= MAX_RETRIES) return retries
    throw fault('invalid_request')`retries must be an integer from 0 to ${MAX_RETRIES}.`
  })
}

/** Runs a transaction, and again after `aborted`, with the error of its last run. */
export function retryAborted<T>(
  retries: number,
  { timer, entropy }: { readonly timer: Timer; readonly entropy: Entropy },
  transact: () => Promise<T>,
): Promise<T> {
  const aborted = {
    is: (error: unknown) => isVaultError(error, 'aborted'),
    most: retries + 1,
    between: (count: number) =>
      new Promise<void>((wake) => {
        timer.after(jitteredMs(count, PAUSE, readU32(entropy.bytes(4), 0) / 2 ** 32), wake, true)
      }),
  }
  return attempt([aborted], transact)
}
