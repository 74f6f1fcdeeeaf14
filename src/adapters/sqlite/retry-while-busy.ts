/** Retries work that another connection's lock on the file refused, without ever blocking the event loop. */
import { setTimeout as pause } from 'node:timers/promises'
import { jitteredMs, retry } from '../../core/util/retry.ts'
import { isBusyError } from './sqlite-errors.ts'

/** How long another process may hold the file before waiting callers fail with `unavailable`. */
const BUSY_TIMEOUT_MS = 10_000
/** The first pause lasts up to 1 ms. */
const PAUSE = { firstMs: 1, maxMs: 16 }

/** Runs work until the file is free, with growing, jittered pauses, for at most 10 seconds. */
export function retryWhileBusy<T>(work: () => T | Promise<T>): Promise<T> {
  const until = performance.now() + BUSY_TIMEOUT_MS
  return retry(
    {
      // Time is the bound: another process may hold the file through any number of attempts.
      maxAttempts: Number.POSITIVE_INFINITY,
      shouldRetry: (error) => isBusyError(error) && performance.now() < until,
      between: (attempt) => pause(jitteredMs(attempt, PAUSE, 0.5 + Math.random() / 2)),
    },
    async () => work(),
  )
}
