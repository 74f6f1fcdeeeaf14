/** A variant that makes one call after another. */
import { nextTurn } from './event-loop-watch.ts'
import type { Variant } from './harness.ts'

export interface Calls<T> {
  readonly name: string
  /** Untimed, before each run: returns what the calls of that run receive, one item per call. */
  prepareItems(): readonly T[]
  call(item: T): unknown
  /** Operations done by one call. Default 1. */
  readonly operationsPerCall?: number
}

/** Calls of one round of a probe: enough to see the slowest kind of call, few enough for calls of seconds. */
const PROBED_CALLS = 20

/** Returns a variant whose timed run calls `call` once per item. */
export function sequentialCalls<T>({ name, prepareItems, call, operationsPerCall = 1 }: Calls<T>): Variant {
  let items: readonly T[] = []
  return {
    name,
    prepare() {
      items = prepareItems()
    },
    async run() {
      for (const item of items) {
        const result = call(item)
        // A driver that returns at once is not charged for waiting.
        if (result instanceof Promise) await result
      }
      return items.length * operationsPerCall
    },
    async probe() {
      for (const item of items.slice(0, PROBED_CALLS)) {
        await call(item)
        await nextTurn()
      }
    },
  }
}
