/** Calls of a vault that belong to no session. `close()` waits for them, and inside a transaction they are refused. */
import type { VaultLifetime } from '../execution/lifetime.ts'
import type { StorageHandle } from '../ports/storage.ts'
import { assertOutsideTransaction } from '../unit-of-work/unit-of-work.ts'
import { guardAround, type RunCallback } from '../util/boundary.ts'
import { type Watch, type WatchedCall, type WatchOptions, watched } from './watched-work.ts'

export interface OutsideCalls {
  /** Runs the work of a call. `failed` is the sentence of errors that are not its own. The work gets a function that runs callbacks of the application. */
  run<T>(failed: string, work: (run: RunCallback) => Promise<T>): Promise<T>
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
  return { run, watch: (call, work) => run(`${call.verb} failed.`, (callback) => watched({ ...call, run: callback }, work)) }
}
