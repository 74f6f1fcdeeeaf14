/** The lifetime of a vault: calls in progress end before it closes, and later ones are refused. */
import { VaultError } from '../errors.ts'

/** The calls of a vault, or of one transaction. */
export interface Lifetime {
  /** Runs a call and returns its result. Rejects with `failed_precondition` after the vault was closed. */
  run<T>(call: () => Promise<T>): Promise<T>
}

/** The lifetime of a vault. */
export interface VaultLifetime extends Lifetime {
  /** Throws `failed_precondition` after the vault was closed. */
  assertOpen(): void
  /** Refuses calls from now on. Resolves when those in progress have ended. */
  end(): Promise<void>
}

/** The calls inside a transaction of the vault, which is itself a call in progress. */
export const WITHIN_CALL: Lifetime = { run: (call) => call() }

/** Returns the lifetime of an open vault. */
export function createLifetime(): VaultLifetime {
  const inProgress = new Set<Promise<unknown>>()
  let isClosed = false
  const assertOpen = (): void => {
    if (isClosed) throw new VaultError('failed_precondition', 'The vault is closed. Open it again.')
  }
  return {
    assertOpen,
    async run(call) {
      assertOpen()
      const running = call()
      inProgress.add(running)
      try {
        return await running
      } finally {
        inProgress.delete(running)
      }
    },
    async end() {
      isClosed = true
      await Promise.allSettled(inProgress)
    },
  }
}
