/** AES-256-CMAC of lists and of single inputs: equality with an independent implementation. */
import { cmac } from '@noble/ciphers/aes.js'
import { describe, expect, it } from 'vitest'
import { toSlab } from '../../../src/core/util/memory.ts'
import { batchedDigests } from '../../laws/batched-digests.ts'
import { itHolds } from '../../support/laws/it-holds.ts'
import { IMPLEMENTATIONS } from './implementations.ts'
import { toHex } from './read-vectors.ts'
import { seededBytes } from './seeded-bytes.ts'

const SEED = 'cmac property 1'

itHolds(batchedDigests)

/** The independent implementation. */
function reference(key: Uint8Array, input: Uint8Array): string {
  return toHex(cmac(input, key))
}

describe.each(IMPLEMENTATIONS)('$name', ({ createCmac }) => {
  function digests(key: Uint8Array, inputs: readonly Uint8Array[]): string[] {
    const out = createCmac(key).digest(toSlab(inputs))
    return inputs.map((_, i) => toHex(out.subarray(i * 16, i * 16 + 16)))
  }

  it('equals the independent implementation for lengths 0 to 300, rising and falling', () => {
    const random = seededBytes(SEED)
    const key = random.bytes(32)
    const inputs = Array.from({ length: 301 }, (_, length) => random.bytes(length))
    const expected = inputs.map((input) => reference(key, input))
    expect(digests(key, inputs)).toEqual(expected)
    expect(digests(key, inputs.toReversed())).toEqual(expected.toReversed())
  })

  it('equals the independent implementation for each length from 0 to 300, alone and beside a shorter input', () => {
    const random = seededBytes(SEED)
    const key = random.bytes(32)
    for (let length = 0; length <= 300; length++) {
      const inputs = [random.bytes(length), random.bytes(random.below(length + 1))]
      const expected = inputs.map((input) => reference(key, input))
      expect(digests(key, inputs.slice(0, 1)), `${length} bytes`).toEqual(expected.slice(0, 1))
      expect(digests(key, inputs), `${length} bytes`).toEqual(expected)
    }
  })

  it('equals the independent implementation for random lists under one key', () => {
    const random = seededBytes(SEED)
    const key = random.bytes(32)
    const mac = createCmac(key)
    for (let round = 0; round < 60; round++) {
      const longest = [20, 100, 600][round % 3] ?? 20
      const inputs = Array.from({ length: random.below(30) }, () => random.bytes(random.below(longest)))
      const expected = inputs.map((input) => reference(key, input)).join('')
      expect(toHex(mac.digest(toSlab(inputs))), `seed ${SEED}, round ${round}`).toBe(expected)
    }
  })

  it('equals the independent implementation for inputs near the size of one run, and of a megabyte', () => {
    const random = seededBytes(SEED)
    const key = random.bytes(32)
    const inputs = [32_752, 32_767, 32_768, 32_769, 65_536, 65_537, 1 << 20].map((length) => random.bytes(length))
    const mixed = inputs.flatMap((input) => [random.bytes(5), input])
    expect(digests(key, mixed)).toEqual(mixed.map((input) => reference(key, input)))
  })

  it('keeps the order of a list that needs several runs', () => {
    const random = seededBytes(SEED)
    const key = random.bytes(32)
    const inputs = Array.from({ length: 5000 }, (_, i) => random.bytes(i % 37))
    const all = digests(key, inputs)
    for (const at of [0, 2047, 2048, 4095, 4096, 4999]) expect(all[at]).toBe(reference(key, inputs[at] ?? new Uint8Array()))
    expect(digests(key, [])).toEqual([])
  })

  it('does not read bytes of a slab after its last item', () => {
    const random = seededBytes(SEED)
    const key = random.bytes(32)
    const input = random.bytes(20)
    const slab = { bytes: Uint8Array.from([...input, ...random.bytes(100)]), ends: Uint32Array.of(20), count: 1 }
    expect(toHex(createCmac(key).digest(slab))).toBe(reference(key, input))
  })

  it('reads a slab that starts inside its buffer', () => {
    const random = seededBytes(SEED)
    const key = random.bytes(32)
    const long = random.bytes(1000)
    const short = [random.bytes(16), random.bytes(3), random.bytes(0), random.bytes(33)]
    expect(digests(key, [long, ...short])).toEqual([long, ...short].map((input) => reference(key, input)))
  })
})
