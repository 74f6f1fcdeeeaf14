/** The one loop that tries work again: bounded for each reason, with a pause between attempts where another process is waited for. */

/** Why work is tried again. A value, so that what throws and what tries again name the same. */
export interface Reason {
  /** True for an error after which another attempt may succeed. */
  is(error: unknown): boolean
  /** Number of attempts that may end with it. */
  readonly most: number
  /** Runs before the next attempt: pauses, or takes another resource. `count` attempts have ended with this reason. */
  between?(count: number): Promise<void>
  /** The error to throw after the last attempt; that attempt's own by default. */
  lastWord?(error: unknown): unknown
}

/** What an attempt knows of those before it. */
export interface Tries {
  /** From 1. */
  readonly number: number
  /** What the attempt before threw; undefined for the first. */
  readonly last: unknown
}

const FIRST: Tries = { number: 1, last: undefined }

/** Runs work until it succeeds, fails for no reason of these, or has failed too often for one of them. A function returns the reasons at the first failure. */
export async function attempt<T>(
  reasons: readonly Reason[] | (() => readonly Reason[]),
  work: (tries: Tries) => Promise<T>,
): Promise<T> {
  let counts: Map<Reason, number> | undefined
  for (let tries = FIRST; ; ) {
    try {
      return await work(tries)
    } catch (error) {
      counts ??= new Map((typeof reasons === 'function' ? reasons() : reasons).map((reason) => [reason, 0]))
      const reason = [...counts.keys()].find((one) => one.is(error))
      if (reason === undefined) throw error
      const count = (counts.get(reason) ?? 0) + 1
      counts.set(reason, count)
      if (count >= reason.most) throw reason.lastWord === undefined ? error : reason.lastWord(error)
      await reason.between?.(count)
      tries = { number: tries.number + 1, last: error }
    }
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
