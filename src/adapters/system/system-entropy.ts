/** The system's secure random source, drawn in large pieces because each draw costs a system call's worth of time. */
import { randomFillSync } from 'node:crypto'
import type { Entropy } from '../../core/ports/entropy.ts'

const POOL_BYTES = 16_384
/** Larger requests are drawn on their own. */
const MAX_POOLED_BYTES = 1024

/** The source of random bytes every vault uses unless it is given another. */
export const systemEntropy: Entropy = createEntropy()

function createEntropy(): Entropy {
  let pool: Uint8Array | undefined
  let used = 0
  return {
    bytes(count) {
      if (count > MAX_POOLED_BYTES) return randomFillSync(new Uint8Array(count))
      if (pool === undefined || used + count > POOL_BYTES) {
        pool = randomFillSync(pool ?? new Uint8Array(POOL_BYTES))
        used = 0
      }
      const taken = pool.slice(used, used + count)
      // Returned bytes may become a key, so no copy must stay here.
      pool.fill(0, used, used + count)
      used += count
      return taken
    },
  }
}
