/** Memory for key bytes: outside Node's shared pool of small buffers, at a fixed address, and wiped after use. */

/**
 * Returns `length` zeros in memory of their own. `Buffer.from` and `Buffer.concat` would take a piece of the pool, which a `postMessage`
 * of any small buffer copies as a whole. A small typed array without a buffer of its own is moved by the garbage collector, which leaves
 * copies.
 */
export function secretBytes(length: number): Uint8Array {
  return new Uint8Array(new ArrayBuffer(length))
}

/** Returns a copy of key bytes. */
export function copySecret(bytes: Uint8Array): Uint8Array {
  const copy = secretBytes(bytes.length)
  copy.set(bytes)
  return copy
}

/** Overwrites key bytes with zeros. */
export function wipe(...secrets: readonly Uint8Array[]): void {
  for (const secret of secrets) secret.fill(0)
}
