/** XAES-256-GCM (C2SP): derives AES-256-GCM keys from a key of 256 bits and the first half of a nonce, which a batch shares for an epoch. */
import { at } from '../../core/util/lists.ts'
import { wipe } from './key-bytes.ts'

/** Encrypts each 16-byte block of its input by itself. One cipher object serves all calls, because creating one is slow. */
export interface BlockCipher {
  update(blocks: Uint8Array): Uint8Array
  /** Wipes the key inside the platform's cipher. Later calls of `update` throw; another `close` does nothing. */
  close(): void
}

/** Length in bytes of a nonce; of each half, which selects the key or is the IV of AES-GCM; and of a tag. */
export const NONCE_BYTES = 24
export const HALF_BYTES = 12
export const TAG_BYTES = 16
/** Length in bytes of what the short form stores of a first half. The other bytes of the half are zero. */
export const SHORT_HALF_BYTES = 6

/** Maximum number of derived keys cached for one key: at most 0.6 MB, and as many ciphers of the platform. Each epoch of each writing process has a key. */
export const MAX_DERIVED = 256

/** Length in bytes of a derived key. */
export const SECRET_BYTES = 32

/** A derived key, in the forms that the platform's AES-GCM and the module need. Without the module it is the secret alone, and the others are empty. */
export interface GcmKey {
  /** All parts, in one buffer. */
  readonly bytes: Uint8Array
  readonly secret: Uint8Array
  /** The round keys, for blocks inside the module. */
  readonly schedule: Uint8Array
  /** The tables of AES(0), the key of GHASH. */
  readonly hashTables: Uint8Array
  /** The platform's cipher, created when the key has encrypted enough blocks to be worth it. */
  cipher: BlockCipher | undefined
  /** Number of blocks of long calls that the module encrypted with this key. */
  moduleBlocks: number
}

/** An XAES-256-GCM key. */
export interface XaesKey {
  /**
   * Returns the key for the half nonce at `offset`, of which `stored` bytes are there and the others are zero. It is valid until
   * MAX_DERIVED others were derived. Repeating the last one costs no lookup.
   */
  derive(nonces: Uint8Array, offset: number, stored?: number): GcmKey
  /** Returns a key for the half nonce that no cache holds. The caller closes it with `closeGcmKey`. */
  deriveOwn(half: Uint8Array): GcmKey
  /** Wipes the key and all that `derive` returned. It cannot be used afterwards. */
  close(): void
}

/** How one key derives others: CMAC in counter mode (SP 800-108). */
export interface KeyDerivation {
  /** Returns the key for a half nonce, in the memory of a closed one if it is given. */
  derive(half: Uint8Array, reused: GcmKey | undefined): GcmKey
  /** Wipes the key. It cannot be used afterwards. */
  close(): void
}

/** Returns an XAES-256-GCM key, which closes its derivation. `maxDerived` is in place of MAX_DERIVED. */
export function createXaesKey(derivation: KeyDerivation, maxDerived = MAX_DERIVED): XaesKey {
  const derived = new Map<string, GcmKey>()
  const lastHalf = Buffer.alloc(HALF_BYTES)
  let last: GcmKey | undefined

  return {
    derive(nonces, offset, stored = HALF_BYTES) {
      if (last !== undefined && sameHalf(lastHalf, nonces, offset, stored)) return last
      // Until the next one is there: if it is not derived, because of an error, the last one must not be taken for it.
      last = undefined
      for (let i = 0; i < HALF_BYTES; i++) lastHalf[i] = i < stored ? at(nonces, offset + i) : 0
      const name = lastHalf.toString('latin1')
      const known = derived.get(name)
      // Deleting first moves the entry to the end of the map, so that the least recently used one is evicted first.
      if (known !== undefined) derived.delete(name)
      const key = known ?? derivation.derive(lastHalf, evict(derived, maxDerived))
      derived.set(name, key)
      last = key
      return key
    },
    deriveOwn: (half) => derivation.derive(half, undefined),
    close() {
      for (const one of derived.values()) closeGcmKey(one)
      derived.clear()
      last = undefined
      derivation.close()
    },
  }
}

/** Removes the least recently used key of a full cache, and returns its memory for the next one; undefined if it is not full. */
function evict(derived: Map<string, GcmKey>, maxDerived: number): GcmKey | undefined {
  if (derived.size < maxDerived) return undefined
  for (const [name, oldest] of derived) {
    derived.delete(name)
    closeGcmKey(oldest)
    return oldest
  }
  return undefined
}

/** Wipes a derived key. */
function closeGcmKey(key: GcmKey): void {
  key.cipher?.close()
  key.cipher = undefined
  key.moduleBlocks = 0
  wipe(key.bytes)
}

function sameHalf(half: Uint8Array, nonces: Uint8Array, offset: number, stored: number): boolean {
  for (let i = 0; i < HALF_BYTES; i++) if (half[i] !== (i < stored ? nonces[offset + i] : 0)) return false
  return true
}

/** Maximum number of seals with one first half. It keeps the probability of a repeated 96-bit IV below 2^-32. Source: SP 800-38D, section 8.3. */
const MAX_SEALS = 2 ** 32
const MAX_EPOCH_MS = 60 * 60 * 1000

/** A first half of nonces, and the key derived from it. */
interface Epoch {
  /** HALF_BYTES, of which the first ones are random and the others zero. */
  readonly half: Uint8Array
  readonly key: GcmKey
}

/** Sources of an epoch. */
interface EpochSources {
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
