/** A signal that is aborted at one of the moments at which it is looked at. */
import type { Signal } from '../../../src/index.ts'

/** Returns a signal that is aborted from the `look`-th look on, from 1. It never calls a listener. */
export function abortedAt(look: number): Signal & { readonly looks: number } {
  let looks = 0
  return {
    get aborted() {
      return ++looks >= look
    },
    get looks() {
      return looks
    },
    addEventListener() {},
    removeEventListener() {},
  }
}

/** Runs work with signals that are aborted later and later, until it succeeds. Returns its result, and how often it was cancelled. */
export async function abortedEverywhere<T>(
  work: (signal: Signal) => Promise<T>,
  afterAbort: () => Promise<void> = async () => {},
): Promise<{ readonly result: T; readonly aborts: number }> {
  for (let look = 1; ; look++) {
    const signal = abortedAt(look)
    try {
      return { result: await work(signal), aborts: look - 1 }
    } catch (error) {
      if (!(error instanceof Error) || Reflect.get(error, 'code') !== 'cancelled') throw error
      if (!error.message.endsWith('It was cancelled by its AbortSignal.')) throw error
      await afterAbort()
    }
  }
}
