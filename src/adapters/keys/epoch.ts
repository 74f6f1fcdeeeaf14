/** Epochs: a random first half of nonces is used for a limited time, so that whole batches share one derived key. */
import type { RandomPool } from './random-pool.ts'
import { type GcmKey, HALF_BYTES, type XaesKey } from './xaes-key.ts'

/** Maximum number of seals with one first half. It keeps the probability of a repeated 96-bit IV below 2^-32. Source: SP 800-38D, section 8.3. */
const MAX_SEALS = 2 ** 32
const MAX_EPOCH_MS = 60 * 60 * 1000

/** A first half of nonces, and the key derived from it. */
export interface Epoch {
  readonly half: Uint8Array
  readonly key: GcmKey
}

/** Sources of an epoch. `now` is a monotonic clock in milliseconds, because the wall clock can be set back. */
export interface EpochSources {
  readonly pool: RandomPool
  readonly now: () => number
}

/** Returns a function that returns an epoch with room for `count` more seals: the current one, or a new one. */
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
