/** Slabs hold the bytes of their items, whether these lie side by side in one buffer or not. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toUtf8 } from '../../../src/core/util/bytes.ts'
import { slabItem, textsToSlab, toSlab } from '../../../src/core/util/slab.ts'

const RUNS = { seed: 20_261_122, numRuns: 500 }

/** Byte strings cut out of one buffer: side by side unless a gap is above 0, in order unless turned around. */
const pieces = fc
  .record({
    start: fc.nat({ max: 3 }),
    parts: fc.array(fc.record({ length: fc.nat({ max: 40 }), gap: fc.constantFrom(0, 0, 0, 0, 1) }), { maxLength: 6 }),
    isTurned: fc.boolean(),
    other: fc.boolean(),
  })
  .map(({ start, parts, isTurned, other }) => {
    const [memory, copy] = [bytesOf(400), bytesOf(400)]
    let end = start
    const items = parts.map(({ length, gap }, index) => {
      const from = end
      end = from + length + gap
      return (other && index === 2 ? copy : memory).subarray(from, from + length)
    })
    return isTurned ? items.toReversed() : items
  })

function bytesOf(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, index) => index * 7)
}

describe('a slab of byte strings', () => {
  it('has each of them, in order', () => {
    fc.assert(
      fc.property(pieces, (items) => {
        const slab = toSlab(items)
        expect(slab.count).toBe(items.length)
        expect(items.map((_, index) => [...slabItem(slab, index)])).toEqual(items.map((item) => [...item]))
        expect(slab.bytes.length).toBe(items.reduce((sum, item) => sum + item.length, 0))
      }),
      RUNS,
    )
  })

  it('is a view of byte strings that lie side by side', () => {
    const memory = bytesOf(100)
    const slab = toSlab([memory.subarray(5, 15), memory.subarray(15, 15), memory.subarray(15, 40)])
    expect(slab.bytes.buffer).toBe(memory.buffer)
    expect([slab.bytes.byteOffset, slab.bytes.length]).toEqual([5, 35])
  })

  it('is a copy of byte strings at following offsets of two buffers', () => {
    const one = new Uint8Array(40).fill(1)
    const other = new Uint8Array(40).fill(2)
    const { bytes } = toSlab([one.subarray(0, 10), other.subarray(10, 20)])
    expect([...bytes]).toEqual([...new Array(10).fill(1), ...new Array(10).fill(2)])
  })
})

describe('a slab of texts', () => {
  /** Texts of any units, also halves of characters, of which two neighbors could be one. */
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string(), fc.constantFrom('', '\ud83d', '\ude00', 'å', 'a'.repeat(40)))

  it('has the UTF-8 of each of them alone, in order', () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 8 }), (texts) => {
        const slab = textsToSlab(texts)
        expect(slab.count).toBe(texts.length)
        expect(texts.map((_, index) => [...slabItem(slab, index)])).toEqual(texts.map((one) => [...toUtf8(one)]))
      }),
      RUNS,
    )
  })
})
