/** The first half of nonces: drawn at random once per epoch, so that a whole batch shares one derived key. */
import type { RandomPool } from './random-pool.ts'
import { type GcmKey, HALF_BYTES, type XaesKey } from './xaes-key.ts'

/** Seals under one first half: keeps the chance that two random 96-bit IVs meet below 2^-32 (SP 800-38D, section 8.3). */
const MAX_SEALS = 2 ** 32
const MAX_EPOCH_MS = 60 * 60 * 1000

/** A half nonce and the key it derives. */
export interface Epoch {
  readonly half: Uint8Array
  readonly key: GcmKey
}

/** What an epoch needs of the process. `now` is a monotonic clock in milliseconds: the wall clock may be set back. */
export interface EpochSources {
  readonly pool: RandomPool
  readonly now: () => number
}

/** A function that returns the epoch in which `count` more messages may be sealed. */
export function createEpochs(key: XaesKey, sources: EpochSources): (count: number) => Epoch {
  let epoch: Epoch | undefined
  let seals = 0
  let endsAt = 0
  return (count) => {
    const time = sources.now()
    seals += count
    if (epoch === undefined || seals > MAX_SEALS || time >= endsAt) {
      const half = new Uint8Array(HALF_BYTES)
      sources.pool.fill(half, 0, HALF_BYTES)
      epoch = { half, key: key.derive(half, 0) }
      seals = count
      endsAt = time + MAX_EPOCH_MS
    }
    return epoch
  }
}
