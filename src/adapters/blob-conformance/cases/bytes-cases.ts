/** Clause B: bytes are the caller's own on the way in and on the way out. */
import type { BlobStore } from '../../../core/ports/blobs.ts'
import { freeBytes } from '../../../core/util/memory.ts'
import { assert } from '../../conformance/assert.ts'
import { type BlobCase, blobCase } from '../blob-case.ts'
import { assertBytes, BEYOND, inChunks, KIB, keyOf, LARGE, MIB, put, read, sampleBytes } from '../sample.ts'

export const bytesCases: readonly BlobCase[] = [
  blobCase('B1 chunks are plain Uint8Arrays', async ({ store }) => {
    await put(store, keyOf(1), sampleBytes(2 * MIB))
    for await (const chunk of store.read(keyOf(1), { start: 0, end: BEYOND }))
      assert(Object.getPrototypeOf(chunk) === Uint8Array.prototype, 'a chunk should be a Uint8Array and no subclass of it')
  }),
  blobCase('B2 a chunk stays as it is while later ones are read', async ({ store }) => {
    const bytes = sampleBytes(LARGE)
    await put(store, keyOf(1), bytes)
    const chunks: Uint8Array[] = []
    for await (const chunk of store.read(keyOf(1), { start: 0, end: BEYOND })) chunks.push(chunk)
    await read(store, keyOf(1))
    let at = 0
    for (const chunk of chunks) {
      assertBytes(chunk, bytes.subarray(at, at + chunk.length), `the chunk at ${at}`)
      at += chunk.length
    }
  }),
  blobCase('B3 a chunk that the consumer overwrites changes nothing else', ({ store }) =>
    readsAgain(store, 'overwritten', (chunk) => chunk.fill(0)),
  ),
  blobCase('B4 content can use the memory of a chunk again for the next one', async ({ store }) => {
    const bytes = sampleBytes(LARGE)
    await store.write(keyOf(1), inOneBuffer(bytes))
    assertBytes(await read(store, keyOf(1)), bytes)
  }),
  blobCase('B5 chunks that are views of a longer buffer are stored without the rest of it', async ({ store }) => {
    const around = Buffer.from(sampleBytes(300 * KIB))
    const view = around.subarray(1000, 250_000)
    await store.write(keyOf(1), inViews(view))
    assertBytes(await read(store, keyOf(1)), Uint8Array.from(view))
  }),
  blobCase('B6 content can free a chunk when the next one is asked for', async ({ store }) => {
    const bytes = sampleBytes(LARGE)
    await store.write(keyOf(1), inFreedChunks(bytes))
    assertBytes(await read(store, keyOf(1)), bytes)
  }),
  blobCase('B7 a chunk that the consumer frees changes nothing else', ({ store }) => readsAgain(store, 'freed', freeBytes)),
]

/** Reads a blob, spoils each chunk before the next one is read, and reads it again. */
async function readsAgain(store: BlobStore, how: string, spoil: (chunk: Uint8Array) => void): Promise<void> {
  const bytes = sampleBytes(3 * MIB + 5)
  await put(store, keyOf(1), bytes)
  let at = 0
  for await (const chunk of store.read(keyOf(1), { start: 0, end: BEYOND })) {
    assertBytes(chunk, bytes.subarray(at, at + chunk.length), `the chunk at ${at}`)
    at += chunk.length
    spoil(chunk)
  }
  assert(at === bytes.length, `a read whose chunks are ${how} should give the whole blob`)
  assertBytes(await read(store, keyOf(1)), bytes, `the blob, read after its chunks were ${how},`)
}

/** Yields the bytes in chunks that are all the same memory. */
async function* inOneBuffer(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(50_000)
  for await (const chunk of inChunks(bytes, buffer.length)) {
    buffer.set(chunk)
    yield buffer.subarray(0, chunk.length)
    buffer.fill(0)
  }
}

/** Yields the bytes in chunks that are freed after their use. */
async function* inFreedChunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for await (const chunk of inChunks(bytes, 70_000, 300_000)) {
    yield chunk
    freeBytes(chunk)
  }
}

/** Yields views of the bytes. */
async function* inViews(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += 10_000) yield bytes.subarray(start, start + 10_000)
}
