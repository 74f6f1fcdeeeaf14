/** Clause Z: a closed handle refuses calls, and no other handle notices. */

import { assertRejects } from '../../conformance/assert.ts'
import { type BlobCase, blobCase } from '../blob-case.ts'
import { assertBytes, BEYOND, inChunks, keyOf, put, read, sampleBytes } from '../sample.ts'

export const closeCases: readonly BlobCase[] = [
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
