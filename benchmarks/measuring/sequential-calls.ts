/** A variant that makes one call after another. */
import type { Variant } from './harness.ts'

export interface Calls<T> {
  readonly name: string
  /** Untimed, before each run: returns what the calls of that run receive, one item per call. */
  prepareItems(): readonly T[]
  call(item: T): unknown
  /** Operations done by one call. Default 1. */
  readonly operationsPerCall?: number
}

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
  }
}
