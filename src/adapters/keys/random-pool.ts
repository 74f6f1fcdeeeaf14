/** Random bytes for nonces, drawn from the system in large pieces because each draw costs more than a whole seal. */
import { randomFillSync } from 'node:crypto'

const POOL_BYTES = 6144

/** Hands out every random byte once. */
export interface RandomPool {
  /** Fills `count` bytes of `target` from `at`. */
  fill(target: Uint8Array, at: number, count: number): void
}

/** A pool that is filled on first use. */
export function createRandomPool(): RandomPool {
  const pool = Buffer.alloc(POOL_BYTES)
  let used = POOL_BYTES
  return {
    fill(target, at, count) {
      if (count > POOL_BYTES / 2) {
        randomFillSync(target, at, count)
        return
      }
      if (used + count > POOL_BYTES) {
        randomFillSync(pool)
        used = 0
      }
      target.set(pool.subarray(used, used + count), at)
      used += count
    },
  }
}
