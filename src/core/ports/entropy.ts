/** What core asks of luck. */
export interface Entropy {
  /** `count` bytes from a cryptographically secure source, in a buffer of the caller's own. */
  bytes(count: number): Uint8Array
}
