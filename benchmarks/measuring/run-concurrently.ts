/** A variant with many concurrent callers. Each caller waits for one result before its next call. */
import { nextTurn } from './event-loop-watch.ts'
import type { Variant } from './harness.ts'
import type { Calls } from './sequential-calls.ts'

export const CALLERS = 64

export interface ConcurrentCalls<T> extends Omit<Calls<T>, 'operationsPerCall'> {
  /** Default `CALLERS`. */
  readonly callers?: number
}

/** Returns a variant whose timed run starts all callers at once. `prepareItems` runs once per caller. */
export function runConcurrently<T>({ name, prepareItems, call, callers = CALLERS }: ConcurrentCalls<T>): Variant {
  let itemsOfCallers: (readonly T[])[] = []
  return {
    name,
    prepare() {
      itemsOfCallers = Array.from({ length: callers }, prepareItems)
    },
    async run() {
      await Promise.all(itemsOfCallers.map((items) => callInOrder(items, call)))
      return itemsOfCallers.reduce((sum, items) => sum + items.length, 0)
    },
    async probe() {
      const callThenTurn = async (item: T): Promise<void> => {
        await call(item)
        await nextTurn()
      }
      await Promise.all(itemsOfCallers.map((items) => callInOrder(items, callThenTurn)))
    },
  }
}

async function callInOrder<T>(items: readonly T[], call: (item: T) => unknown): Promise<void> {
  for (const item of items) await call(item)
}
