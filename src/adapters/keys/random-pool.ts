/** A pool of random bytes for nonces. One system call costs more than a seal, so bytes are drawn in large pieces. */
import { randomFillSync } from 'node:crypto'

const POOL_BYTES = 6144

/** A source of random bytes. Each byte is used once. */
export interface RandomPool {
  /** Fills `count` bytes of `target` from `offset`. */
  fill(target: Uint8Array, offset: number, count: number): void
}

/** Returns a pool that is filled on first use. */
export function createRandomPool(): RandomPool {
  const pool = Buffer.alloc(POOL_BYTES)
  let used = POOL_BYTES
  return {
    fill(target, offset, count) {
      if (count > POOL_BYTES / 2) {
        randomFillSync(target, offset, count)
        return
      }
      if (used + count > POOL_BYTES) {
        randomFillSync(pool)
        used = 0
      }
      target.set(pool.subarray(used, used + count), offset)
      used += count
    },
  }
}
