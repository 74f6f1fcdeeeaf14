/** Source of random bytes for keys, ids and tokens. */
export interface Entropy {
  /** Returns exactly `count` bytes of a cryptographically secure generator, in a buffer that the source does not use again. */
  bytes(count: number): Uint8Array
}
