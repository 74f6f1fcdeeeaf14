/** A variant with many concurrent callers. Each caller waits for one result before its next call. */
import type { Variant } from './harness.ts'
import type { Calls } from './sequential-calls.ts'

export const CALLERS = 64

/** Returns a variant whose timed run starts all callers at once. `prepareItems` runs once per caller. */
export function runConcurrently<T>({ name, prepareItems, call }: Omit<Calls<T>, 'operationsPerCall'>): Variant {
  let itemsOfCallers: (readonly T[])[] = []
  return {
    name,
    prepare() {
      itemsOfCallers = Array.from({ length: CALLERS }, prepareItems)
    },
    async run() {
      await Promise.all(itemsOfCallers.map((items) => callInOrder(items, call)))
      return itemsOfCallers.reduce((sum, items) => sum + items.length, 0)
    },
  }
}

async function callInOrder<T>(items: readonly T[], call: (item: T) => unknown): Promise<void> {
  for (const item of items) await call(item)
}
