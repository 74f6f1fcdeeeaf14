/** Unkeyed hashing, for the chains and Merkle trees of the audit trail. */
import type { Slab } from '../util/slab.ts'

/** Length of a SHA-256 hash in bytes. */
export const HASH_BYTES = 32

/** SHA-256. Source: FIPS 180-4. */
export interface Hash {
  /** Returns HASH_BYTES for each input, in order, in one array. Synchronous. */
  sha256(inputs: Slab): Uint8Array
}
