/** Encrypts pointers as the module does, by FF1 over big integers with the platform's cipher. */
import { POINTER_WORDS } from '../../../core/ports/crypto.ts'
import { at } from '../../../core/util/lists.ts'
import { createFf1 } from '../ff1.ts'
import type { PointerCipher } from '../primitives.ts'
import { createPlatformCipher } from './aes.ts'

const TWEAK_BYTES = 7
const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const MASK12 = (1n << 12n) - 1n
const MASK58 = (1n << 58n) - 1n
const MASK62 = (1n << 62n) - 1n

/** Returns the pointer cipher for a key of 32 bytes, which are not kept, and a tweak of 7 bytes. */
export function createPlatformPointerCipher(key: Uint8Array, tweak: Uint8Array): PointerCipher {
  const cipher = createPlatformCipher(key)
  const ff1 = createFf1(cipher, { radix: 2, length: 122, tweakBytes: TWEAK_BYTES })
  const tweaksOf = (count: number): Uint8Array => {
    const tweaks = new Uint8Array(count * TWEAK_BYTES)
    for (let i = 0; i < count; i++) tweaks.set(tweak, i * TWEAK_BYTES)
    return tweaks
  }
  return {
    encrypt(words) {
      const numbers = Array.from({ length: words.length / POINTER_WORDS }, (_, item) => numberOf(words, item * POINTER_WORDS))
      return ff1.encrypt(numbers, tweaksOf(numbers.length)).map(toUuid)
    },
    decrypt(texts) {
      const wellFormed = Uint8Array.from(texts, (text) => (UUID_V4.test(text) ? 1 : 0))
      // Malformed texts take as long as others.
      const images = texts.map((text, item) => (wellFormed[item] === 1 ? fromUuid(text) : 0n))
      const words = new Uint32Array(texts.length * POINTER_WORDS)
      for (const [item, number] of ff1.decrypt(images, tweaksOf(images.length)).entries()) {
        if (wellFormed[item] === 1) writeWords(number, words, item * POINTER_WORDS)
      }
      return { words, wellFormed }
    },
    close() {
      cipher.close()
      ff1.close()
    },
  }
}

/** Returns the 122 bits of a pointer: object id 16 | row 48 | token check 58. */
function numberOf(words: Uint32Array, from: number): bigint {
  const check = (BigInt(at(words, from + 2)) << 32n) | BigInt(at(words, from + 3))
  return (BigInt(at(words, from)) << 90n) | (BigInt(at(words, from + 1)) << 58n) | (check & MASK58)
}

function writeWords(number: bigint, words: Uint32Array, from: number): void {
  const check = number & MASK58
  words[from] = Number(number >> 90n)
  words[from + 1] = Number(BigInt.asUintN(32, number >> 58n))
  words[from + 2] = Number(check >> 32n)
  words[from + 3] = Number(BigInt.asUintN(32, check))
}

/** Returns the UUID whose bits, without version and variant, are the number. */
function toUuid(number: bigint): string {
  const high = ((number >> 74n) << 16n) | 0x4000n | ((number >> 62n) & MASK12)
  const text = ((high << 64n) | (1n << 63n) | (number & MASK62)).toString(16).padStart(32, '0')
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`
}

function fromUuid(text: string): bigint {
  const bits = BigInt(`0x${text.replaceAll('-', '')}`)
  return ((bits >> 80n) << 74n) | (((bits >> 64n) & MASK12) << 62n) | (bits & MASK62)
}
