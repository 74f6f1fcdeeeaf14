/** AES-256-CMAC (SP 800-38B) with the platform's CBC, one input after the other: Node has no CMAC of its own. */
import { type Cipheriv, createCipheriv } from 'node:crypto'
import { DIGEST_BYTES } from '../../../core/ports/crypto.ts'
import { at } from '../../../core/util/lists.ts'
import { fewBytes, type Slab, slabItem } from '../../../core/util/memory.ts'
import { copySecret, secretBytes, wipe } from '../key-bytes.ts'
import type { BlockCipher } from '../xaes-key.ts'
import { createBlockCipher, doubleBlock } from './aes.ts'

const BLOCK = 16
/** Number of bytes passed to the CBC stream at once, a multiple of the block. It bounds the memory for a long input. */
const STREAM_PIECE = 32_768

/** CMAC with one key. */
export interface Cmac {
  /** Returns DIGEST_BYTES for each input, in order. */
  digest(inputs: Slab): Uint8Array
  /** Wipes the key. Later calls throw. */
  close(): void
}

/** The two subkeys: for a whole last block, and for a padded one. */
interface Subkeys {
  readonly whole: Uint8Array
  readonly padded: Uint8Array
}

/** Returns CMAC for a key of 32 bytes, which are not kept. */
export function createPlatformCmac(key: Uint8Array): Cmac {
  const cipher = createBlockCipher(key)
  const subkeys = subkeysOf(cipher)
  cipher.close()
  const stream = createCmacStream(key, subkeys)
  return {
    digest(inputs) {
      const out = fewBytes(inputs.count * DIGEST_BYTES)
      for (let i = 0; i < inputs.count; i++) stream.digest(slabItem(inputs, i), out, i * DIGEST_BYTES)
      return out
    },
    close() {
      stream.close()
      wipe(subkeys.whole, subkeys.padded)
    },
  }
}

/** Returns the subkeys of a key. */
export function subkeysOf(cipher: BlockCipher): Subkeys {
  const zeros = cipher.update(new Uint8Array(BLOCK))
  const whole = doubleBlock(zeros)
  wipe(zeros)
  return { whole, padded: doubleBlock(whole) }
}

/** Pads the last block of a message, which has `length` bytes from 0 to 16, and adds the subkey. */
function finishBlock(block: Uint8Array, offset: number, length: number, subkeys: Subkeys): void {
  const subkey = length === BLOCK ? subkeys.whole : subkeys.padded
  if (length < BLOCK) {
    block[offset + length] = 0x80
    block.fill(0, offset + length + 1, offset + BLOCK)
  }
  for (let i = 0; i < BLOCK; i++) block[offset + i] = at(block, offset + i) ^ at(subkey, i)
}

/** The MACs of long messages, one by one. */
interface CmacStream {
  digest(input: Uint8Array, out: Uint8Array, offset: number): void
  close(): void
}

/**
 * Returns a stream that writes the MAC of one message to `out`. All messages use one CBC stream. Adding the last ciphertext block
 * to the first block of a message gives it an IV of zeros, so that no message needs a new cipher.
 */
export function createCmacStream(key: Uint8Array, subkeys: Subkeys): CmacStream {
  const secret = copySecret(key)
  const last = secretBytes(BLOCK)
  const piece = secretBytes(STREAM_PIECE)
  let cipher: Cipheriv | undefined
  return {
    digest(input, out, offset) {
      const stream = cipher ?? startCbc(secret, last)
      // Dropped until the message is complete: an interrupted stream must not be used for another message.
      cipher = undefined
      let rest = input.length
      for (let from = 0; from === 0 || rest > 0; from += STREAM_PIECE) {
        const length = Math.min(rest, STREAM_PIECE)
        piece.set(input.subarray(from, from + length))
        rest -= length
        const end = Math.max(BLOCK, Math.ceil(length / BLOCK) * BLOCK)
        if (rest === 0) finishBlock(piece, end - BLOCK, length - (end - BLOCK), subkeys)
        if (from === 0) for (let i = 0; i < BLOCK; i++) piece[i] = at(piece, i) ^ at(last, i)
        const encrypted = stream.update(piece.subarray(0, end))
        last.set(encrypted.subarray(end - BLOCK))
        piece.fill(0, 0, end)
        encrypted.fill(0)
      }
      out.set(last, offset)
      cipher = stream
    },
    close() {
      cipher?.final()
      cipher = undefined
      wipe(secret, last)
    },
  }
}

function startCbc(key: Uint8Array, last: Uint8Array): Cipheriv {
  last.fill(0)
  const cipher = createCipheriv('aes-256-cbc', key, new Uint8Array(BLOCK))
  cipher.setAutoPadding(false)
  return cipher
}
