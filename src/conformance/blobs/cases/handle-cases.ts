/** Calls and handles beside each other. Clause C: calls at the same time; Z: a closed handle refuses calls, and no other notices. */
import { assertRejects } from '../../assert.ts'
import { type BlobCase, blobCase } from '../blob-case.ts'
import { assertBytes, BEYOND, inChunks, KIB, keyOf, MIB, put, read, sampleBytes } from '../sample.ts'

const WRITERS = 8

export const handleCases: readonly BlobCase[] = [
  blobCase('C1 blobs that are written at the same time are each whole', async ({ store, another }) => {
    const other = await another()
    const blobs = Array.from({ length: WRITERS }, (_, at) => sampleBytes(MIB + at * 77_777, at + 1))
    await Promise.all(blobs.map((bytes, at) => (at % 2 === 0 ? store : other).write(keyOf(at), inChunks(bytes, 30 * KIB + at))))
    for (const [at, bytes] of blobs.entries()) assertBytes(await read(store, keyOf(at)), bytes, `blob ${at}`)
  }),
  blobCase('C2 a blob is read by several readers at once', async ({ store, another }) => {
    const other = await another()
    const bytes = sampleBytes(3 * MIB + 1)
    await put(store, keyOf(1), bytes)
    const reads = Array.from({ length: WRITERS }, (_, at) => {
      const start = at * 100_000
      return read(at % 2 === 0 ? store : other, keyOf(1), { start, end: start + 2 * MIB })
    })
    for (const [at, found] of (await Promise.all(reads)).entries())
      assertBytes(found, bytes.subarray(at * 100_000, at * 100_000 + 2 * MIB), `the range of reader ${at}`)
  }),
  blobCase('C3 reads and deletions of other blobs go on during writes', async ({ store }) => {
    const bytes = sampleBytes(2 * MIB)
    await put(store, keyOf(1), bytes)
    await put(store, keyOf(2), bytes)
    const [, found] = await Promise.all([put(store, keyOf(3), bytes), read(store, keyOf(1)), store.delete([keyOf(2)])])
    assertBytes(found, bytes)
    assertBytes(await read(store, keyOf(3)), bytes)
  }),
  blobCase('Z1 a closed handle refuses every call with unavailable', async ({ store }) => {
    await put(store, keyOf(1), sampleBytes(10))
    await store.close()
    await assertRejects(store.write(keyOf(2), inChunks(sampleBytes(10))), 'unavailable', 'a write')
    await assertRejects(read(store, keyOf(1)), 'unavailable', 'a read')
    await assertRejects(store.delete([keyOf(1)]), 'unavailable', 'a deletion')
  }),
  blobCase('Z2 closing again is no error', async ({ store }) => {
    await store.close()
    await store.close()
  }),
  blobCase('Z3 a closed handle leaves other handles and the blobs as they are', async ({ store, another }) => {
    const other = await another()
    const bytes = sampleBytes(100_000)
    await put(store, keyOf(1), bytes)
    await store.close()
    assertBytes(await read(other, keyOf(1)), bytes)
    await put(other, keyOf(2), bytes)
    await other.delete([keyOf(1), keyOf(2)])
  }),
  blobCase('Z4 a read that is open when its handle is closed ends with unavailable', async ({ store }) => {
    await put(store, keyOf(1), sampleBytes(4_000_000))
    const chunks = store.read(keyOf(1), { start: 0, end: BEYOND })[Symbol.asyncIterator]()
    await chunks.next()
    await store.close()
    await assertRejects(chunks.next(), 'unavailable', 'the next chunk')
  }),
]
