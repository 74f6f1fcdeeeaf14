/** What a read gives. Clause R: the bytes of its range; B: chunks are the caller's own, on the way in and on the way out. */
import type { BlobStore } from '../../../core/ports/blobs.ts'
import { freeBytes } from '../../../core/util/memory.ts'
import { assert, assertEqual, assertRejects } from '../../assert.ts'
import { type BlobCase, blobCase } from '../blob-case.ts'
import { assertBytes, BEYOND, inChunks, KIB, keyOf, LARGE, MIB, put, read, sampleBytes } from '../sample.ts'

/** Offsets next to the sizes of pieces, chunks and parts. */
const EDGES = [
  0,
  1,
  64 * KIB - 1,
  64 * KIB,
  64 * KIB + 1,
  MIB - 1,
  MIB,
  MIB + 1,
  8 * MIB - 1,
  8 * MIB,
  8 * MIB + 1,
  LARGE - 1,
  LARGE,
]

export const readCases: readonly BlobCase[] = [
  blobCase('R1 a range within a blob gives these bytes', async ({ store }) => {
    const bytes = sampleBytes(LARGE)
    await put(store, keyOf(1), bytes)
    for (const [start, end] of [
      [0, 1],
      [10, 20],
      [65_000, 66_000],
      [500_000, 3_000_000],
      [8_388_600, 8_388_700],
    ] as const)
      assertBytes(await read(store, keyOf(1), { start, end }), bytes.subarray(start, end), `the range ${start} to ${end}`)
  }),
  blobCase('R2 a range over the end gives the bytes before the end', async ({ store }) => {
    const bytes = sampleBytes(MIB + 7)
    await put(store, keyOf(1), bytes)
    for (const start of [0, MIB, MIB + 6])
      for (const end of [MIB + 8, 2 * MIB, BEYOND])
        assertBytes(await read(store, keyOf(1), { start, end }), bytes.subarray(start), `the range ${start} to ${end}`)
  }),
  blobCase('R3 a range at or after the end gives nothing', async ({ store }) => {
    await put(store, keyOf(1), sampleBytes(MIB))
    await put(store, keyOf(2), sampleBytes(0))
    for (const start of [MIB, MIB + 1, 5 * MIB])
      assertEqual((await read(store, keyOf(1), { start, end: BEYOND })).length, 0, 'the number of bytes after the end')
    assertEqual((await read(store, keyOf(2), { start: 0, end: 1 })).length, 0, 'the number of bytes of an empty blob')
  }),
  blobCase('R4 an empty range gives nothing', async ({ store }) => {
    await put(store, keyOf(1), sampleBytes(MIB))
    for (const at of [0, 1, 64 * KIB, MIB, MIB + 1])
      assertEqual((await read(store, keyOf(1), { start: at, end: at })).length, 0, 'the number of bytes of an empty range')
  }),
  blobCase('R5 ranges that begin and end next to the sizes of pieces are exact', async ({ store }) => {
    const bytes = sampleBytes(LARGE)
    await put(store, keyOf(1), bytes)
    for (const start of EDGES)
      for (const end of [start + 1, start + 2, start + 64 * KIB, ...EDGES.filter((edge) => edge > start && edge - start < MIB)])
        assertBytes(await read(store, keyOf(1), { start, end }), bytes.subarray(start, end), `the range ${start} to ${end}`)
  }),
  blobCase('R6 consecutive ranges of any length make up the blob', async ({ store }) => {
    const bytes = sampleBytes(2 * MIB + 99)
    await put(store, keyOf(1), bytes)
    for (let start = 0; start < bytes.length; start += 99_991) {
      const range = { start, end: start + 99_991 }
      assertBytes(await read(store, keyOf(1), range), bytes.subarray(range.start, range.end), `the range from ${start}`)
    }
  }),
  blobCase('R7 no chunk is empty or longer than 1 MiB', async ({ store }) => {
    await put(store, keyOf(1), sampleBytes(LARGE))
    for await (const { length } of store.read(keyOf(1), { start: 5, end: LARGE }))
      assert(length > 0 && length <= MIB, `a chunk should have from 1 byte to 1 MiB and has ${length} bytes`)
  }),
  blobCase('R8 a range that is not two offsets in order is refused with internal', async ({ store }) => {
    await put(store, keyOf(1), sampleBytes(100))
    for (const range of [
      { start: -1, end: 5 },
      { start: 6, end: 5 },
      { start: 0.5, end: 5 },
      { start: 0, end: Number.NaN },
    ])
      await assertRejects(read(store, keyOf(1), range), 'internal', 'a read of no range')
  }),
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
