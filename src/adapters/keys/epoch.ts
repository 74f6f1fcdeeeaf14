/** Epochs: a random first half of nonces is used for a limited time, so that whole batches share one derived key. */
import { closeGcmKey, type GcmKey, HALF_BYTES, type XaesKey } from './xaes-key.ts'

/** Maximum number of seals with one first half. It keeps the probability of a repeated 96-bit IV below 2^-32. Source: SP 800-38D, section 8.3. */
const MAX_SEALS = 2 ** 32
const MAX_EPOCH_MS = 60 * 60 * 1000

/** A first half of nonces, and the key derived from it. */
export interface Epoch {
  /** HALF_BYTES, of which the first ones are random and the others zero. */
  readonly half: Uint8Array
  readonly key: GcmKey
}

/** Sources of an epoch. */
export interface EpochSources {
  /** Fills the first half. */
  readonly fill: (target: Uint8Array, offset: number, count: number) => void
  /** A monotonic clock in milliseconds, because the wall clock can be set back. */
  readonly now: () => number
}

/** The epochs of one key. */
export interface Epochs {
  /**
   * Returns an epoch with room for `count` more seals: the current one, or a new one if that is used up or has another number of random
   * bytes. It is valid until the next call.
   */
  next(count: number, randomBytes: number): Epoch
  /** Wipes the key of the current epoch. */
  close(): void
}

/** Returns the epochs of a key. The first begins at the first seal. */
export function createEpochs(key: XaesKey, { fill, now }: EpochSources): Epochs {
  let epoch: Epoch | undefined
  let seals = 0
  let endsAt = 0
  let drawn = 0
  const close = (): void => {
    if (epoch !== undefined) closeGcmKey(epoch.key)
    epoch = undefined
  }
  return {
    next(count, randomBytes) {
      const time = now()
      seals += count
      if (epoch === undefined || seals > MAX_SEALS || time >= endsAt || drawn !== randomBytes) {
        close()
        const half = new Uint8Array(HALF_BYTES)
        fill(half, 0, HALF_BYTES)
        half.fill(0, randomBytes)
        epoch = { half, key: key.deriveOwn(half) }
        drawn = randomBytes
        seals = count
        endsAt = time + MAX_EPOCH_MS
      }
      return epoch
    },
    close,
  }
}
