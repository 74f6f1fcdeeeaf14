/** Entropy for two vaults that must draw the same bytes even when one of them draws more often in between. */
import type { Entropy } from '../../../src/core/ports/crypto.ts'
import { randomFor } from './seeded-random.ts'

/** Bytes that depend on the step, on their count, and on how often that count was drawn in the step. */
export interface SharedEntropy extends Entropy {
  begin(step: number): void
}

/** Returns the same bytes for the same seed. */
export function sharedEntropy(seed: string): SharedEntropy {
  let step = 0
  const drawn = new Map<number, number>()
  return {
    begin(next) {
      step = next
      drawn.clear()
    },
    bytes(count) {
      const number = (drawn.get(count) ?? 0) + 1
      drawn.set(count, number)
      return randomFor(`${seed} ${step} ${count} ${number}`).bytes(count)
    },
  }
}
