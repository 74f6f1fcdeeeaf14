/** Luck for tests: bytes and numbers that follow from a printed seed. */
import { createCipheriv, createHash } from 'node:crypto'

/** A source of bytes that gives the same ones for the same seed. */
export interface SeededBytes {
  readonly bytes: (count: number) => Uint8Array
  /** A whole number from 0 to `limit` (exclusive). */
  readonly below: (limit: number) => number
}

/** A source seeded by a text. */
export function seededBytes(seed: string): SeededBytes {
  const key = createHash('sha256').update(seed).digest()
  const cipher = createCipheriv('aes-256-ctr', key, Buffer.alloc(16))
  const bytes = (count: number): Uint8Array => Uint8Array.from(cipher.update(Buffer.alloc(count)))
  return { bytes, below: (limit) => Buffer.from(bytes(6)).readUIntBE(0, 6) % limit }
}
