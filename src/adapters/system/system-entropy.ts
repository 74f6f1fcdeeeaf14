/** The CSPRNG of the operating system. Bytes are drawn in large pieces, because each draw costs a system call. */
import { randomFillSync } from 'node:crypto'
import type { Entropy } from '../../core/ports/crypto.ts'
import { fillFresh } from './kernel-random.ts'

const POOL_BYTES = 16_384
/** Length of the requests that can become a key, in bytes: each is drawn alone, also from the kernel. */
const KEY_BYTES = 32
/** Maximum number of bytes taken from the pool. Larger requests are drawn alone. */
const MAX_POOLED_BYTES = 1024

/** The default source of random bytes. */
export const systemEntropy: Entropy = createEntropy()

function createEntropy(): Entropy {
  let pool: Uint8Array | undefined
  let used = 0
  return {
    bytes(count) {
      if (count === KEY_BYTES) return freshKey()
      if (count > MAX_POOLED_BYTES) return randomFillSync(new Uint8Array(count))
      if (pool === undefined || used + count > POOL_BYTES) {
        pool = randomFillSync(pool ?? new Uint8Array(POOL_BYTES))
        used = 0
      }
      const taken = takeFrom(pool, used, count)
      used += count
      return taken
    },
  }
}

/** Returns bytes of the pool. They can become part of a token, so the pool keeps no copy. Most are few, and a loop costs half of two calls for them. */
function takeFrom(pool: Uint8Array, from: number, count: number): Uint8Array {
  const taken = new Uint8Array(count)
  for (let i = 0; i < count; i++) {
    taken[i] = pool[from + i] ?? 0 // Exists: the pool has so many bytes left.
    pool[from + i] = 0
  }
  return taken
}

/** Returns bytes that a restored copy of the process does not repeat, in memory of their own. */
function freshKey(): Uint8Array {
  const key = new Uint8Array(new ArrayBuffer(KEY_BYTES))
  fillFresh(key)
  return key
}
