/** Many callers at once, each waiting for one answer before it asks again. */
import type { Variant } from '../harness.ts'

export const CALLERS = 64

export interface Calls<T> {
  readonly name: string
  /** What one caller has in hand before the clock starts. */
  hand(): readonly T[]
  call(one: T): unknown
}

/** One timed run: all callers at once, each with a hand of its own. */
export function callersAtOnce<T>({ name, hand, call }: Calls<T>): Variant {
  let hands: (readonly T[])[] = []
  return {
    name,
    prepare() {
      hands = Array.from({ length: CALLERS }, hand)
    },
    async run() {
      await Promise.all(hands.map((mine) => oneAfterTheOther(mine, call)))
      return hands.reduce((sum, mine) => sum + mine.length, 0)
    },
  }
}

async function oneAfterTheOther<T>(mine: readonly T[], call: (one: T) => unknown): Promise<void> {
  for (const one of mine) await call(one)
}
