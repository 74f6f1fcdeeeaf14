/** AES-256-GCM of one message with the platform's cipher, which is the fastest for long messages. */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { withoutStack } from '../../core/errors.ts'
import { type GcmKey, HALF_BYTES, TAG_BYTES } from './xaes-key.ts'

const ALGORITHM = 'aes-256-gcm'
const OPTIONS = { authTagLength: TAG_BYTES } as const

// Keys are bytes, which can be wiped. A KeyObject would hold a copy until it is collected. Given bytes, Node makes and catches two errors to find
// out that they are no KeyObject, and their stacks take longer than the cipher.

/** Writes `ciphertext | tag` to `out` at `offset`. */
export function sealPlain(
  key: GcmKey,
  iv: Uint8Array,
  plaintext: Uint8Array,
  associatedData: Uint8Array,
  out: Uint8Array,
  offset: number,
): void {
  const cipher = withoutStack(() => createCipheriv(ALGORITHM, key.secret, iv, OPTIONS))
  cipher.setAAD(associatedData)
  const ciphertext = cipher.update(plaintext)
  out.set(ciphertext, offset)
  release(ciphertext)
  cipher.final()
  out.set(cipher.getAuthTag(), offset + plaintext.length)
}

/**
 * Gives the memory of a copied array back at once. The garbage collector sees small objects there, and would let the memory of a long
 * stream of messages grow, and then stop for long.
 */
function release({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0)
}

/** Returns the plaintext of `iv | ciphertext | tag`; undefined if the tag is wrong. */
export function openPlain(key: GcmKey, body: Uint8Array, associatedData: Uint8Array): Uint8Array | undefined {
  const tagStart = body.length - TAG_BYTES
  const iv = body.subarray(0, HALF_BYTES)
  const decipher = withoutStack(() => createDecipheriv(ALGORITHM, key.secret, iv, OPTIONS))
  decipher.setAAD(associatedData)
  decipher.setAuthTag(body.subarray(tagStart))
  const plaintext = decipher.update(body.subarray(HALF_BYTES, tagStart))
  try {
    decipher.final()
    return plaintext
  } catch {
    // A wrong tag is a result, not an error. The unauthenticated plaintext is wiped.
    plaintext.fill(0)
    return undefined
  }
}
