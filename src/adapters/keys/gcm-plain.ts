/** AES-256-GCM of one message by the platform's own cipher: for long messages, where it is the fastest. */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { type GcmKey, HALF_BYTES, TAG_BYTES } from './xaes-key.ts'

const ALGORITHM = 'aes-256-gcm'
const OPTIONS = { authTagLength: TAG_BYTES } as const

/** Writes `ciphertext | tag` into `out` at `at`. */
export function sealPlain(
  key: GcmKey,
  iv: Uint8Array,
  plaintext: Uint8Array,
  context: Uint8Array,
  out: Uint8Array,
  at: number,
): void {
  const cipher = createCipheriv(ALGORITHM, key.secret, iv, OPTIONS)
  cipher.setAAD(context)
  out.set(cipher.update(plaintext), at)
  cipher.final()
  out.set(cipher.getAuthTag(), at + plaintext.length)
}

/** The plaintext of `iv | ciphertext | tag`, or undefined when the tag is wrong. */
export function openPlain(key: GcmKey, body: Uint8Array, context: Uint8Array): Uint8Array | undefined {
  const tagAt = body.length - TAG_BYTES
  const decipher = createDecipheriv(ALGORITHM, key.secret, body.subarray(0, HALF_BYTES), OPTIONS)
  decipher.setAAD(context)
  decipher.setAuthTag(body.subarray(tagAt))
  const plaintext = decipher.update(body.subarray(HALF_BYTES, tagAt))
  try {
    decipher.final()
    return plaintext
  } catch {
    // A wrong tag is an answer, not a fault; what was deciphered must not outlive it.
    plaintext.fill(0)
    return undefined
  }
}
