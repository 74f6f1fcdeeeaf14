/** Clause S: streams take no more memory than they need, and end cleanly. */

import { assert, assertEqual, assertRejects } from '../../conformance/assert.ts'
import { type BlobCase, blobCase } from '../blob-case.ts'
import { assertBytes, BEYOND, KIB, keyOf, LARGE, MIB, put, read, sampleBytes } from '../sample.ts'

/** Bytes that a store may have read from content and not stored yet. */
const MAX_AHEAD = 20 * MIB
const ENOUGH = 48 * MIB

export const streamCases: readonly BlobCase[] = [
  blobCase('S1 content is read at most 20 MiB ahead of what is stored', async ({ store, stored }) => {
    const chunk = sampleBytes(MIB)
    let largest = 0
    async function* content(): AsyncGenerator<Uint8Array> {
      for (let given = 0; given < ENOUGH; given += chunk.length) {
        largest = Math.max(largest, given - ((await stored(keyOf(1))) ?? 0))
        yield chunk
      }
    }
    await store.write(keyOf(1), content())
    assert(largest <= MAX_AHEAD, `at most ${MAX_AHEAD} bytes should be ahead of what is stored, and ${largest} are`)
  }),
  blobCase('S2 content is asked for one chunk at a time, and from its beginning to its end once', async ({ store }) => {
    let [open, begun, chunks] = [0, 0, 0]
    const content: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]() {
        begun++
        return {
          async next() {
            open++
            assert(open === 1, 'a chunk should not be asked for before the last one came')
            await new Promise((resolve) => setImmediate(resolve))
            open--
            chunks++
            return chunks > 40 ? { done: true, value: undefined } : { done: false, value: sampleBytes(64 * KIB, chunks) }
          },
        }
      },
    }
    await store.write(keyOf(1), content)
    assertEqual([begun, chunks], [1, 41], 'the number of times that the content was begun and asked')
    assertEqual((await read(store, keyOf(1))).length, 40 * 64 * KIB, 'the length of the blob')
  }),
  blobCase('S3 a reader that stops early affects no later call', async ({ store }) => {
    const bytes = sampleBytes(LARGE)
    await put(store, keyOf(1), bytes)
    for (let round = 0; round < 60; round++) {
      for await (const chunk of store.read(keyOf(1), { start: round, end: BEYOND })) {
        assertEqual(chunk[0], bytes[round], 'the first byte')
        break
      }
    }
    assertBytes(await read(store, keyOf(1)), bytes)
    await store.delete([keyOf(1)])
    await assertRejects(read(store, keyOf(1)), 'not_found', 'a read of the deleted blob')
  }),
  blobCase('S4 a read begins when its first chunk is asked for', async ({ store }) => {
    const later = store.read(keyOf(1), { start: 0, end: 10 })
    const bytes = sampleBytes(10)
    await put(store, keyOf(1), bytes)
    for await (const chunk of later) assertBytes(chunk, bytes)
  }),
]
