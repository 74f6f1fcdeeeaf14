/** What core asks of unkeyed hashing. */
import type { Slab } from '../util/slab.ts'

/** Bytes of a SHA-256 hash. */
export const HASH_BYTES = 32

/** SHA-256 (FIPS 180-4). */
export interface Hash {
  /** HASH_BYTES for each input, one after the other. */
  sha256(inputs: Slab): Uint8Array
}
