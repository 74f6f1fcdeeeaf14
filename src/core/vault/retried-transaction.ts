/** Transactions of a vault that lost to other writers run again, after a random pause. */
import { fault, isVaultError } from '../errors.ts'
import type { Entropy } from '../ports/crypto.ts'
import type { Timer } from '../ports/time.ts'
import { attempt, jitteredMs } from '../util/attempt.ts'
import { readInput } from '../util/boundary.ts'
import { readU32 } from '../util/bytes.ts'
import { assertOptions } from '../util/options.ts'

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
