/** What nonces are: the platform's random bytes, with the kernel's for each call. */
import { randomFillSync } from 'node:crypto'
import { required } from '../../core/util/lists.ts'
import { fillFromKernel } from '../system/system.ts'
import { HALF_BYTES } from './xaes-key.ts'

const POOL_BYTES = 6144

/** A source of nonces, in halves of HALF_BYTES. */
export interface NonceSource {
  /** Reads fresh bytes from the kernel. Called once at the start of each call that seals. */
  renew(): void
  /** Fills `count` bytes of `target` from `offset`, a multiple of HALF_BYTES. Each half is a random one, XOR the fresh bytes. */
  fill(target: Uint8Array, offset: number, count: number): void
}

/** The generators of a nonce source. */
interface NonceGenerators {
  /** Fills `count` bytes of `target` from `offset` from the platform's generator, whose state a copy of the process shares. */
  readonly platform: (target: Uint8Array, offset: number, count: number) => void
  /** Fills `target` from the kernel, which is not part of a copy. */
  readonly kernel: (target: Uint8Array) => void
}

/** The generators of this platform. */
export const SYSTEM_GENERATORS: NonceGenerators = {
  platform: (target, offset, count) => void randomFillSync(target, offset, count),
  kernel: fillFromKernel,
}

/**
 * Returns a nonce source. The platform's bytes are drawn in large pieces, because a draw costs as much as a seal, and are distinct within
 * a process. They never serve as nonces by themselves: a copy of the process has the same ones. The kernel's, one half for each call,
 * make those of two copies differ.
 */
export function createNonceSource({ platform, kernel }: NonceGenerators): NonceSource {
  const pool = Buffer.alloc(POOL_BYTES)
  const fresh = new Uint8Array(HALF_BYTES)
  let used = POOL_BYTES
  const fillPlatform = (target: Uint8Array, offset: number, count: number): void => {
    if (count > POOL_BYTES / 2) {
      platform(target, offset, count)
      return
    }
    if (used + count > POOL_BYTES) {
      platform(pool, 0, POOL_BYTES)
      used = 0
    }
    for (let i = 0; i < count; i++) target[offset + i] = required(pool[used + i])
    used += count
  }
  return {
    renew: () => kernel(fresh),
    fill(target, offset, count) {
      fillPlatform(target, offset, count)
      for (let start = offset; start < offset + count; start += HALF_BYTES) {
        for (let i = 0; i < HALF_BYTES; i++) target[start + i] = required(target[start + i]) ^ required(fresh[i])
      }
    },
  }
}
