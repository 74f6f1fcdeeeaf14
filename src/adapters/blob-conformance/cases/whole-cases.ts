/** Clause W: a blob is there as a whole or not at all, and is the chunks in order. */

import { assert, assertEqual, assertRejects } from '../../conformance/assert.ts'
import { type BlobCase, blobCase } from '../blob-case.ts'
import { assertBytes, inChunks, KIB, keyOf, LARGE, MIB, pausedWrite, put, read, sampleBytes } from '../sample.ts'

export const wholeCases: readonly BlobCase[] = [
  blobCase('W1 a blob is read as it was written', async ({ store }) => {
    const bytes = sampleBytes(1000)
    await put(store, keyOf(1), bytes)
    assertBytes(await read(store, keyOf(1)), bytes)
    assertBytes(await read(store, keyOf(1)), bytes, 'the blob, read again,')
  }),
  blobCase('W2 an empty blob is there, and has no bytes', async ({ store }) => {
    await store.write(keyOf(1), inChunks(new Uint8Array()))
    assertEqual((await read(store, keyOf(1))).length, 0, 'the length of the blob')
  }),
  blobCase('W3 a blob of one byte, and those next to the sizes of pieces and parts, are whole', async ({ store }) => {
    const sizes = [1, 2, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, MIB - 1, MIB, MIB + 1, 8 * MIB - 1, 8 * MIB, 8 * MIB + 1]
    for (const [at, size] of sizes.entries()) {
      const bytes = sampleBytes(size, at + 1)
      await put(store, keyOf(at), bytes)
      assertBytes(await read(store, keyOf(at)), bytes, `a blob of ${size} bytes`)
    }
  }),
  blobCase('W4 chunks of any length are stored in order', async ({ store }) => {
    const bytes = sampleBytes(LARGE)
    await store.write(keyOf(1), inChunks(bytes, 1, 70_001, 3, 65_536, 1_200_007, 17))
    assertBytes(await read(store, keyOf(1)), bytes)
    await store.write(keyOf(2), inChunks(bytes, bytes.length))
    assertBytes(await read(store, keyOf(2)), bytes, 'a blob of one chunk')
  }),
  blobCase('W5 empty chunks are no bytes', async ({ store }) => {
    const bytes = sampleBytes(200 * KIB)
    await store.write(keyOf(1), withEmptyChunks(bytes))
    assertBytes(await read(store, keyOf(1)), bytes)
    await store.write(keyOf(2), onlyEmptyChunks())
    assertEqual((await read(store, keyOf(2))).length, 0, 'the length of a blob of empty chunks')
  }),
  blobCase('W6 a blob that is being written is not there', async ({ store, another }) => {
    const [first, rest] = [sampleBytes(LARGE, 1), sampleBytes(100, 2)]
    const other = await another()
    const write = pausedWrite(store, keyOf(1), first, rest)
    await write.isPaused
    await assertRejects(read(other, keyOf(1)), 'not_found', 'a read during the write')
    await assertRejects(read(store, keyOf(1), { start: 0, end: 1 }), 'not_found', 'a read of one byte during the write')
    write.release()
    assertEqual((await write.end).kind, 'written', 'the write')
    assert((await read(other, keyOf(1))).length === LARGE + 100, 'the blob should be whole once its write has resolved')
  }),
  blobCase('W7 a blob is seen by every other handle, and after its own is closed', async ({ store, another }) => {
    const bytes = sampleBytes(2 * MIB + 1)
    const early = await another()
    await put(store, keyOf(1), bytes)
    assertBytes(await read(early, keyOf(1)), bytes, 'the blob on a handle opened before')
    await store.close()
    assertBytes(await read(await another(), keyOf(1)), bytes, 'the blob on a handle opened after')
  }),
]

async function* withEmptyChunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield new Uint8Array()
  for await (const chunk of inChunks(bytes, 64 * KIB)) {
    yield chunk
    yield new Uint8Array()
    yield new Uint8Array()
  }
}

async function* onlyEmptyChunks(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array()
  yield new Uint8Array()
}
