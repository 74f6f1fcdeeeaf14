/** AES-256 with the platform's ciphers: over whole blocks, and as AES-256-GCM of one message. */
import { createCipheriv, createDecipheriv } from 'node:crypto'
import { withoutStack } from '../../../core/errors.ts'
import { at } from '../../../core/util/lists.ts'
import { secretBytes, wipe } from '../key-bytes.ts'
import { type BlockCipher, type GcmKey, HALF_BYTES, TAG_BYTES } from '../xaes-key.ts'

/** Returns a block cipher for a key of 32 bytes. */
export function createBlockCipher(key: Uint8Array): BlockCipher {
  const cipher = createCipheriv('aes-256-ecb', key, null)
  cipher.setAutoPadding(false)
  let isClosed = false
  return {
    update: (blocks) => cipher.update(blocks),
    close() {
      // The end of the stream frees the context of OpenSSL, which overwrites its round keys.
      if (!isClosed) cipher.final()
      isClosed = true
    },
  }
}

/** Encrypts each 16-byte block of its input by itself, in place. */
export interface InPlaceCipher {
  encrypt(blocks: Uint8Array): void
  /** Wipes the key. Later calls throw. */
  close(): void
}

/** Returns a cipher for a key of 32 bytes, which are not kept. */
export function createPlatformCipher(key: Uint8Array): InPlaceCipher {
  const cipher = createBlockCipher(key)
  return {
    encrypt(blocks) {
      const encrypted = cipher.update(blocks)
      blocks.set(encrypted)
      wipe(encrypted)
    },
    close: cipher.close,
  }
}

/** Returns a block of 16 bytes doubled in GF(2^128), which gives the subkeys of CMAC. Source: SP 800-38B, section 6.1. */
export function doubleBlock(block: Uint8Array): Uint8Array {
  const doubled = secretBytes(16)
  const carry = at(block, 0) >> 7
  for (let i = 0; i < 15; i++) doubled[i] = (at(block, i) << 1) | (at(block, i + 1) >> 7)
  doubled[15] = (at(block, 15) << 1) ^ (carry * 0x87)
  return doubled
}

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
