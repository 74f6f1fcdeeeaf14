/** Blocks of one size from chunks of any length, without reading ahead. */
import { describe, expect, it } from 'vitest'
import { toBlocks, watchContent } from '../../../src/core/util/to-blocks.ts'
import { randomFor } from '../../support/random/seeded-random.ts'

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
