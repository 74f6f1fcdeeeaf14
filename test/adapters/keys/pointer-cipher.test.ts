/** Pointer encryption: FF1 against an independent implementation, the UUID form, and decryption. */
import { FF1 } from '@noble/ciphers/ff1.js'
import { describe, expect, it } from 'vitest'
import { pointerTweak } from '../../../src/adapters/keys/wasm/pointer-cipher.ts'
import { MODULE_BLOCKS } from '../../../src/adapters/keys/wasm/wasm.ts'
import { IMPLEMENTATIONS } from './implementations.ts'
import { hex, readFf1Vectors } from './read-vectors.ts'
import { type SeededBytes, seededBytes } from './seeded-bytes.ts'

const vectors = readFf1Vectors('ff1').cases
const SEED = 'pointer property 1'
const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

function randomWords(random: SeededBytes, count: number): Uint32Array {
  const bytes = random.bytes(count * 16)
  const words = new Uint32Array(bytes.buffer)
  return words.map((word, i) => (i % 4 === 2 ? word & 0x3ffffff : word))
}

/** The numeral string the port describes: space 16, row 48, check 58, most significant bit first. */
function toBits(words: Uint32Array): number[] {
  const [a, b, c, d] = words
  const text = [(a ?? 0).toString(2).padStart(32, '0'), (b ?? 0).toString(2).padStart(32, '0')]
  const check = [(c ?? 0).toString(2).padStart(26, '0'), (d ?? 0).toString(2).padStart(32, '0')]
  return [...text, ...check].join('').split('').map(Number)
}

/** 122 bits around the version and the variant. */
function toUuid(bits: readonly number[]): string {
  const all = [...bits.slice(0, 48), 0, 1, 0, 0, ...bits.slice(48, 60), 1, 0, ...bits.slice(60)].join('')
  const digits = (all.match(/.{4}/g) ?? []).map((nibble) => Number.parseInt(nibble, 2).toString(16)).join('')
  return [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)].join('-')
}

it('the independent FF1 gives the nine samples of NIST, so it can serve as the reference', () => {
  for (const { key, radix, tweak, plaintext, ciphertext } of vectors) {
    const cipher = FF1(radix, hex(key), hex(tweak))
    const digits = [...plaintext].map((digit) => Number.parseInt(digit, 36))
    expect(
      cipher
        .encrypt(digits)
        .map((digit) => digit.toString(36))
        .join(''),
    ).toBe(ciphertext)
  }
})

describe.each(IMPLEMENTATIONS)('$name', ({ createPointerCipher }) => {
  it('2,000 random pointers equal FF1 of radix 2 and length 122 of the independent implementation', () => {
    const random = seededBytes(SEED)
    for (let round = 0; round < 4; round++) {
      const key = random.bytes(32)
      const tweak = random.bytes(7)
      const words = randomWords(random, 500)
      const reference = FF1(2, key, tweak)
      const expected = Array.from({ length: 500 }, (_, i) => toUuid(reference.encrypt(toBits(words.subarray(i * 4, i * 4 + 4)))))
      const texts = createPointerCipher(key, tweak).encrypt(words)
      expect(texts, `seed ${SEED}, round ${round}`).toEqual(expected)
    }
  })

  it('pointers alone and in lists of 2 to 24 equal the independent implementation in both directions, under many keys', () => {
    const random = seededBytes(SEED)
    const rings = Array.from({ length: 5 }, () => {
      const key = random.bytes(32)
      const tweak = random.bytes(7)
      return { cipher: createPointerCipher(key, tweak), reference: FF1(2, key, tweak) }
    })
    for (let count = 1; count <= 24; count++) {
      for (const { cipher, reference } of rings) {
        const words = randomWords(random, count)
        const expected = Array.from({ length: count }, (_, i) =>
          toUuid(reference.encrypt(toBits(words.subarray(i * 4, i * 4 + 4)))),
        )
        expect(cipher.encrypt(words), `seed ${SEED}, ${count} together`).toEqual(expected)
        expect(cipher.decrypt(expected), `seed ${SEED}, ${count} together`).toEqual({
          words,
          wellFormed: new Uint8Array(count).fill(1),
        })
      }
    }
  })

  it('the paths for few and for many pointers give the same results for 5,000 pointers', () => {
    const random = seededBytes(SEED)
    const cipher = createPointerCipher(random.bytes(32), random.bytes(7))
    const words = randomWords(random, 5000)
    const texts = cipher.encrypt(words)
    for (const [i, text] of texts.entries()) {
      const own = words.subarray(i * 4, i * 4 + 4)
      if (cipher.encrypt(own)[0] !== text) expect(cipher.encrypt(own), `seed ${SEED}, pointer ${i}`).toEqual([text])
      const back = cipher.decrypt([text])
      if (back.wellFormed[0] !== 1 || back.words.some((word, k) => word !== own[k])) {
        expect(back, `seed ${SEED}, pointer ${i}`).toEqual({ words: own, wellFormed: Uint8Array.of(1) })
      }
    }
  })

  /** The bytes of a list of words, which may share its memory. */
  function bytesOf({ buffer, byteOffset, byteLength }: Uint32Array): Buffer {
    return Buffer.from(buffer, byteOffset, byteLength)
  }

  it('every pointer is a distinct lower-case UUID of version 4 and decrypts, in lists of any length', () => {
    const random = seededBytes(SEED)
    const cipher = createPointerCipher(random.bytes(32), random.bytes(7))
    for (const count of [0, 1, 2, MODULE_BLOCKS - 1, MODULE_BLOCKS, MODULE_BLOCKS + 1, 4095, 4096, 4097, 9000]) {
      const words = randomWords(random, count)
      const texts = cipher.encrypt(words)
      expect(texts.length).toBe(count)
      expect(texts.every((text) => UUID_V4.test(text))).toBe(true)
      expect(new Set(texts).size).toBe(count)
      const back = cipher.decrypt(texts)
      expect(bytesOf(back.words).equals(bytesOf(words))).toBe(true)
      expect(back.wellFormed.every((flag) => flag === 1)).toBe(true)
    }
  })

  it('every UUID of version 4 is the pointer of exactly one position: decrypting and encrypting returns it', () => {
    const random = seededBytes(SEED)
    const cipher = createPointerCipher(random.bytes(32), random.bytes(7))
    const texts = Array.from({ length: 3000 }, () => toUuid(toBits(randomWords(random, 1))))
    expect(cipher.encrypt(cipher.decrypt(texts).words)).toEqual(texts)
  })

  it('neighboring rows and extreme words decrypt exactly', () => {
    const cipher = createPointerCipher(new Uint8Array(32).fill(3), new Uint8Array(7))
    const words = Uint32Array.from([
      0, 0, 0, 0, 0, 1, 0, 0, 0xffffffff, 0xffffffff, 0x3ffffff, 0xffffffff, 0x10000, 0, 0, 1, 7, 0x80000000, 0, 0x80000000,
    ])
    expect(cipher.decrypt(cipher.encrypt(words)).words).toEqual(words)
  })

  it('a text that is not a lower-case UUID of version 4 is flagged, gives zero words and changes no other item', () => {
    const random = seededBytes(SEED)
    const cipher = createPointerCipher(random.bytes(32), random.bytes(7))
    const words = randomWords(random, 1)
    const [good = ''] = cipher.encrypt(words)
    const letter = good.search(/[a-f]/)
    const replaced = (at: number, by: string): string => good.slice(0, at) + by + good.slice(at + 1)
    const bad = [
      '',
      'x',
      good.slice(1),
      `${good} `,
      good.toUpperCase(),
      replaced(letter, (good[letter] ?? '').toUpperCase()),
      replaced(14, '1'),
      replaced(19, 'c'),
      replaced(8, '0'),
      replaced(13, '_'),
      replaced(18, '/'),
      replaced(23, '–'),
      replaced(0, 'g'),
      replaced(35, ':'),
      replaced(35, '@'),
      replaced(3, '\0'),
      good.replaceAll('-', ''),
      `{${good.slice(1, 35)}}`,
      // A character beyond Latin-1 whose low byte is a digit must not be read as that digit.
      replaced(0, String.fromCharCode(0x100 + good.charCodeAt(0))),
      replaced(8, String.fromCharCode(0x100 + 45)),
      replaced(5, 'é'),
      replaced(5, '\ud800'),
      '😀'.repeat(18),
    ]
    const mixed = bad.flatMap((text) => [good, text])
    const { words: back, wellFormed } = cipher.decrypt(mixed)
    for (const [i, text] of mixed.entries()) {
      const isGood = i % 2 === 0
      expect(wellFormed[i], JSON.stringify(text)).toBe(isGood ? 1 : 0)
      expect(back.subarray(i * 4, i * 4 + 4), JSON.stringify(text)).toEqual(isGood ? words : new Uint32Array(4))
    }
    for (const text of bad) {
      expect(cipher.decrypt([text]), JSON.stringify(text)).toEqual({ words: new Uint32Array(4), wellFormed: new Uint8Array(1) })
      const { words: short, wellFormed: marks } = cipher.decrypt([good, text, good])
      expect(Array.from(marks), JSON.stringify(text)).toEqual([1, 0, 1])
      expect(Array.from(short), JSON.stringify(text)).toEqual([...words, 0, 0, 0, 0, ...words])
    }
  })

  it('a text with any other character in any place is not well-formed', () => {
    const random = seededBytes(SEED)
    const cipher = createPointerCipher(random.bytes(32), random.bytes(7))
    const [good = ''] = cipher.encrypt(randomWords(random, 1))
    for (let at = 0; at < good.length; at++) {
      const allowed = at === 14 ? '4' : at === 19 ? '89ab' : [8, 13, 18, 23].includes(at) ? '-' : '0123456789abcdef'
      const units = Array.from({ length: 0x300 }, (_, unit) => String.fromCharCode(unit))
      const { wellFormed } = cipher.decrypt(units.map((unit) => good.slice(0, at) + unit + good.slice(at + 1)))
      const accepted = units.filter((_, index) => wellFormed[index] === 1)
      expect(accepted.join(''), `place ${at}`).toBe(allowed)
    }
  })

  it('another key or vault gives other pointers for the same position', () => {
    const words = Uint32Array.from([1 << 16, 5, 0, 0])
    const texts = [
      createPointerCipher(new Uint8Array(32), pointerTweak('a')).encrypt(words)[0],
      createPointerCipher(new Uint8Array(32), pointerTweak('b')).encrypt(words)[0],
      createPointerCipher(new Uint8Array(32).fill(1), pointerTweak('a')).encrypt(words)[0],
    ]
    expect(new Set(texts).size).toBe(3)
    expect(pointerTweak('a').length).toBe(7)
  })

  it('words that are a view into a larger buffer are read from their offset', () => {
    const cipher = createPointerCipher(new Uint8Array(32), new Uint8Array(7))
    const buffer = Uint32Array.from([9, 9, 9, 9, 1, 2, 3, 4, 9])
    expect(cipher.encrypt(buffer.subarray(4, 8))).toEqual(cipher.encrypt(Uint32Array.from([1, 2, 3, 4])))
  })
})
