/** The one loop that tries work again: bounded, with a pause between attempts where another process is waited for. */

/** When work is tried again, and what happens in between. */
export interface RetryPolicy {
  /** Times work is tried in all. */
  readonly maxAttempts: number
  /** True for an error after which another attempt may succeed. */
  shouldRetry(error: unknown): boolean
  /** Runs between two attempts: pauses, or takes another resource. `attempt` is the one that failed, from 1. */
  between?(attempt: number): Promise<void>
  /** The error to throw after the last attempt; that attempt's own by default. */
  exhausted?(error: unknown): unknown
}

/** Number of attempts of work that loses to concurrent writers. */
const MAX_STALE_ATTEMPTS = 1000

/** Returns a policy for work that throws `signal` when others changed what it read: 1,000 attempts, with a turn of the event loop between them. */
export function retryStale(signal: Error, scheduler: { yield(): Promise<void> }, exhausted: () => unknown): RetryPolicy {
  return {
    maxAttempts: MAX_STALE_ATTEMPTS,
    shouldRetry: (error) => error === signal,
    between: () => scheduler.yield(),
    exhausted,
  }
}

/** Runs work until it succeeds, fails for another reason, or has failed `maxAttempts` times. `attempt` counts from 1. */
export async function retry<T>(policy: RetryPolicy, work: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt)
    } catch (error) {
      if (!policy.shouldRetry(error)) throw error
      if (attempt >= policy.maxAttempts) throw policy.exhausted === undefined ? error : policy.exhausted(error)
    }
    await policy.between?.(attempt)
  }
}

/** Milliseconds to pause after a failed attempt: a random part, from 0 to 1, of a bound that doubles up to `maxMs`, so that two processes do not meet again. */
export function jitteredMs(
  attempt: number,
  { firstMs, maxMs }: { readonly firstMs: number; readonly maxMs: number },
  random: number,
): number {
  return random * Math.min(maxMs, firstMs * 2 ** (attempt - 1))
}
