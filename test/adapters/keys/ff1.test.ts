/** FF1 of any radix and length against an independent implementation. */
import { createCipheriv } from 'node:crypto'
import { FF1 } from '@noble/ciphers/ff1.js'
import { expect, it } from 'vitest'
import { createFf1 } from '../../../src/adapters/keys/ff1.ts'
import type { InPlaceCipher } from '../../../src/adapters/keys/platform/aes.ts'
import { type SeededBytes, seededBytes } from './seeded-bytes.ts'

const SEED = 'ff1 property 1'

/** AES of any key size, as the vectors need. */
function blockCipher(key: Uint8Array): Pick<InPlaceCipher, 'encrypt'> {
  const cipher = createCipheriv(`aes-${key.length * 8}-ecb`, key, null)
  cipher.setAutoPadding(false)
  return { encrypt: (blocks) => blocks.set(cipher.update(blocks)) }
}

function toNumber(digits: readonly number[], radix: number): bigint {
  return digits.reduce((number, digit) => number * BigInt(radix) + BigInt(digit), 0n)
}

function toDigits(number: bigint, radix: number, length: number): number[] {
  const digits: number[] = []
  for (let rest = number; digits.length < length; rest /= BigInt(radix)) digits.unshift(Number(rest % BigInt(radix)))
  return digits
}

function randomDigits(random: SeededBytes, radix: number, length: number): number[] {
  return Array.from({ length }, () => random.below(radix))
}

it('equals the independent implementation for lengths 6 to 40 and longer, each item under its own tweak', () => {
  const random = seededBytes(SEED)
  for (const length of [...Array.from({ length: 35 }, (_, i) => i + 6), 57, 58, 100, 360]) {
    const key = random.bytes(32)
    const items = Array.from({ length: length > 40 ? 3 : 20 }, () => ({
      digits: randomDigits(random, 10, length),
      tweak: random.bytes(8),
    }))
    items.push(
      { digits: new Array(length).fill(0), tweak: random.bytes(8) },
      { digits: new Array(length).fill(9), tweak: random.bytes(8) },
    )
    const values = items.map(({ digits }) => toNumber(digits, 10))
    const tweaks = Uint8Array.from(items.flatMap(({ tweak }) => [...tweak]))
    const ff1 = createFf1(blockCipher(key), { radix: 10, length, tweakBytes: 8 })
    const images = ff1.encrypt(values, tweaks)
    const expected = items.map(({ digits, tweak }) => toNumber(FF1(10, key, tweak).encrypt(digits), 10))
    expect(images, `seed ${SEED}, length ${length}`).toEqual(expected)
    expect(ff1.decrypt(images, tweaks), `seed ${SEED}, length ${length}`).toEqual(values)
  }
})

it('equals the independent implementation for every radix, tweak length and key size', () => {
  const random = seededBytes(SEED)
  for (let round = 0; round < 150; round++) {
    const radix = [2, 3, 7, 16, 26, 36, 62, 255, 256, 1000, 65_535][random.below(11)] ?? 2
    const length = Math.ceil(20 / Math.log2(radix)) + random.below(40)
    const tweak = random.bytes(random.below(40))
    const key = random.bytes([16, 24, 32][random.below(3)] ?? 32)
    const digits = randomDigits(random, radix, length)
    const ff1 = createFf1(blockCipher(key), { radix, length, tweakBytes: tweak.length })
    const [image = 0n] = ff1.encrypt([toNumber(digits, radix)], tweak)
    const where = `seed ${SEED}, round ${round}, radix ${radix}, length ${length}`
    expect(toDigits(image, radix, length), where).toEqual(FF1(radix, key, tweak).encrypt(digits))
    expect(ff1.decrypt([image], tweak), where).toEqual([toNumber(digits, radix)])
  }
})

it('a list that needs several runs equals its values one by one', () => {
  const random = seededBytes(SEED)
  const ff1 = createFf1(blockCipher(random.bytes(32)), { radix: 10, length: 16, tweakBytes: 8 })
  const values = Array.from({ length: 2500 }, () => toNumber(randomDigits(random, 10, 16), 10))
  const tweaks = random.bytes(8 * values.length)
  const images = ff1.encrypt(values, tweaks)
  for (const at of [0, 1, 1023, 1024, 2047, 2048, 2499]) {
    expect(ff1.encrypt(values.slice(at, at + 1), tweaks.subarray(at * 8, at * 8 + 8))).toEqual([images[at]])
  }
  expect(ff1.decrypt(images, tweaks)).toEqual(values)
  expect(ff1.encrypt([], new Uint8Array())).toEqual([])
})

it('negative control: a changed bit in the tweak, or the tweak of another item, changes the result', () => {
  const random = seededBytes(SEED)
  const ff1 = createFf1(blockCipher(random.bytes(32)), { radix: 10, length: 12, tweakBytes: 8 })
  const tweak = new Uint8Array(8)
  const [image] = ff1.encrypt([7n], tweak)
  for (let byte = 0; byte < 8; byte++) {
    const changed = new Uint8Array(8)
    changed[byte] = 1
    expect(ff1.encrypt([7n], changed)[0]).not.toBe(image)
  }
})
