/** The lifetime of a vault: calls in progress end before it closes, and later ones are refused. */
import { VaultError } from '../errors.ts'

/** The calls of a vault, or of one transaction. */
export interface Lifetime {
  /** Begins a call. Throws `failed_precondition` after the vault was closed. Each call that began also ends. */
  begin(): void
  end(): void
}

/** The lifetime of a vault. */
export interface VaultLifetime extends Lifetime {
  /** Throws `failed_precondition` after the vault was closed. */
  assertOpen(): void
  /** Runs a call and returns its result. Rejects with `failed_precondition` after the vault was closed. */
  run<T>(call: () => Promise<T>): Promise<T>
  /** Refuses calls from now on. Resolves when those in progress have ended. */
  close(): Promise<void>
}

/** The calls inside a transaction of the vault, which is itself a call in progress. */
export const WITHIN_CALL: Lifetime = { begin() {}, end() {} }

/** Returns the lifetime of an open vault. */
export function createLifetime(): VaultLifetime {
  let inProgress = 0
  let isClosed = false
  const waiting: (() => void)[] = []
  const assertOpen = (): void => {
    if (isClosed) throw new VaultError('failed_precondition', 'The vault is closed. Open it again.')
  }
  const begin = (): void => {
    assertOpen()
    inProgress++
  }
  const end = (): void => {
    inProgress--
    if (inProgress === 0) for (const resolve of waiting.splice(0)) resolve()
  }
  return {
    assertOpen,
    begin,
    end,
    async run(call) {
      begin()
      try {
        return await call()
      } finally {
        end()
      }
    },
    async close() {
      isClosed = true
      if (inProgress > 0) await new Promise<void>((resolve) => waiting.push(resolve))
    },
  }
}
