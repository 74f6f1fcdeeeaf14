/** Slabs hold the bytes of their items, whether these lie side by side in one buffer or not. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toUtf8 } from '../../../src/core/util/bytes.ts'
import {
  copyFew,
  createFewBytes,
  fewBytes,
  fewNumbers,
  freeBytes,
  plaintextBytes,
  slabItem,
  textsToSlab,
  toBlocks,
  toSlab,
  watchContent,
  withOwnMemory,
} from '../../../src/core/util/memory.ts'
import { randomFor } from '../../support/random/seeded-random.ts'

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

it.each([
  ['bytes', fewBytes],
  ['bytes of plaintexts', plaintextBytes],
  ['numbers', fewNumbers],
])('gives %s of every length, all zero, which no other call gets', (_, give) => {
  const given = Array.from({ length: 2000 }, (_, at) => give(at % 1100))
  for (const [at, one] of given.entries()) {
    expect(one.length).toBe(at % 1100)
    expect(one.every((value) => value === 0)).toBe(true)
    one.fill((at % 255) + 1)
  }
  for (const [at, one] of given.entries()) expect(one.every((value) => value === (at % 255) + 1)).toBe(true)
})

it.each([
  ['bytes', createFewBytes()],
  ['bytes of plaintexts', plaintextBytes],
  ['numbers', fewNumbers],
])('gives %s after their memory was transferred, also where they have no length', (_, give) => {
  for (const length of [0, 0, 3, 0, 5]) {
    const one = give(length)
    if (one.buffer instanceof ArrayBuffer) one.buffer.transfer(0)
    expect(give(0).length).toBe(0)
    expect(give(length)).toEqual(give(length))
  }
})

it('gives long bytes and lists memory of their own', () => {
  expect(fewBytes(1025).buffer.byteLength).toBe(1025)
  expect(fewNumbers(257).buffer.byteLength).toBe(4 * 257)
})

it('plaintexts share no memory with other bytes', () => {
  const others = new Set(Array.from({ length: 2000 }, () => [fewBytes(100).buffer, fewNumbers(25).buffer]).flat())
  for (let i = 0; i < 2000; i++) expect(others.has(plaintextBytes(100).buffer)).toBe(false)
})

it('a copy has the bytes, and changes with neither', () => {
  const bytes = Uint8Array.of(1, 2, 3)
  const copy = copyFew(bytes)
  bytes[0] = 9
  expect(copy).toEqual(Uint8Array.of(1, 2, 3))
})

it('bytes that share their memory are copied for an application, and no others', () => {
  const shared = fewBytes(10).fill(7)
  const own = withOwnMemory(shared)
  expect(own).toEqual(shared)
  expect(own.buffer.byteLength).toBe(10)
  expect(withOwnMemory(own)).toBe(own)
})

it('long bytes that have their memory alone are empty afterwards', () => {
  const bytes = new Uint8Array(10_000)
  freeBytes(bytes)
  expect(bytes).toHaveLength(0)
})

it('short bytes, and a part of other bytes, are left as they are', () => {
  const short = new Uint8Array(100).fill(1)
  const whole = new Uint8Array(10_000).fill(2)
  freeBytes(short)
  freeBytes(whole.subarray(0, 9_999))
  expect(short).toEqual(new Uint8Array(100).fill(1))
  expect(whole).toEqual(new Uint8Array(10_000).fill(2))
})

async function* each(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}

describe('blocks', () => {
  it('are the bytes in order, all of one size but the last', async () => {
    const random = randomFor('blocks')
    for (let round = 0; round < 200; round++) {
      const chunks = Array.from({ length: random.below(12) }, () => random.bytes(random.below(400)))
      const [size, buffers] = [1 + random.below(300), 1 + random.below(3)]
      const blocks: Uint8Array[] = []
      for await (const block of toBlocks(each(chunks), { size, buffers })) blocks.push(block.slice())
      expect(Buffer.concat(blocks)).toEqual(Buffer.concat(chunks))
      const last = blocks.pop()
      expect(last?.length).toBeLessThan(size)
      for (const block of blocks) expect(block.length).toBe(size)
    }
  })

  it('stay unchanged until as many later ones are asked for as there are buffers', async () => {
    const blocks = toBlocks(each([Uint8Array.of(1, 2, 3, 4, 5, 6)]), { size: 2, buffers: 2 })
    const first = (await blocks.next()).value
    await blocks.next()
    expect(first).toEqual(Uint8Array.of(1, 2))
    await blocks.next()
    expect(first).toEqual(Uint8Array.of(5, 6))
  })

  it('ask for no chunk before it is needed, and end the content with themselves', async () => {
    let [given, ended] = [0, false]
    async function* content(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          given++
          yield new Uint8Array(10)
        }
      } finally {
        ended = true
      }
    }
    for await (const block of toBlocks(watchContent(content()), { size: 25 })) {
      expect([block.length, given]).toEqual([25, 3])
      break
    }
    expect(ended).toBe(true)
  })
})

describe('watched content', () => {
  it('knows what it threw', async () => {
    const thrown = new Error('thrown on purpose')
    const content = watchContent({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(thrown) }) })
    await expect(content[Symbol.asyncIterator]().next()).rejects.toBe(thrown)
    expect([content.hasThrown(thrown), content.hasThrown(new Error('thrown on purpose'))]).toEqual([true, false])
  })

  it('refuses a chunk that is no byte string, as an error of the content', async () => {
    // A caller without types gives such a chunk.
    const content = watchContent(each(['text' as never]))
    const error = await content[Symbol.asyncIterator]()
      .next()
      .catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'internal' })
    expect(content.hasThrown(error)).toBe(true)
  })
})
