/** Retries work that another connection's lock on the file refused, without ever blocking the event loop. */
import { setTimeout as pause } from 'node:timers/promises'
import { attempt, jitteredMs, type Reason } from '../../core/util/attempt.ts'
import { isBusyError } from './sqlite-errors.ts'

/** How long another process may hold the file before waiting callers fail with `unavailable`. */
export const BUSY_TIMEOUT_MS = 10_000
/** A refusal this long after the one before is the beginning of another wait: in between, the file may have been free. */
const SAME_HOLD_MS = 1000
/** The first pause lasts up to 1 ms. */
const PAUSE = { firstMs: 1, maxMs: 16 }

/** Milliseconds that rise, and a pause in milliseconds. */
export interface Waiting {
  now(): number
  pause(ms: number): Promise<unknown>
}

const SYSTEM: Waiting = { now: () => performance.now(), pause: (ms) => pause(ms) }

/** Runs work until the file is free, with growing, jittered pauses. */
export type RetryWhileBusy = <T>(work: () => T | Promise<T>) => Promise<T>

/**
 * Waits for at most 10 seconds from the first refusal of any caller. Work that comes while the file is still held after that,
 * such as recording that other work failed, is tried once: a caller waits once, not once for each step.
 */
export function createRetryWhileBusy({ now, pause }: Waiting = SYSTEM): RetryWhileBusy {
  let heldSince = Number.NEGATIVE_INFINITY
  let refusedAt = Number.NEGATIVE_INFINITY

  function mayRetry(): boolean {
    const at = now()
    if (at - refusedAt > SAME_HOLD_MS) heldSince = at
    refusedAt = at
    return at - heldSince < BUSY_TIMEOUT_MS
  }

  const busy: Reason = {
    is: (error) => isBusyError(error) && mayRetry(),
    // Time is the bound: another process may hold the file through any number of attempts.
    most: Number.POSITIVE_INFINITY,
    between: async (count) => void (await pause(jitteredMs(count, PAUSE, 0.5 + Math.random() / 2))),
  }

  return async (work) => {
    const result = await attempt([busy], async () => work())
    refusedAt = Number.NEGATIVE_INFINITY
    return result
  }
}
