/** Clause C: calls at the same time do not affect each other. */

import { type BlobCase, blobCase } from '../blob-case.ts'
import { assertBytes, inChunks, KIB, keyOf, MIB, put, read, sampleBytes } from '../sample.ts'

const WRITERS = 8

export const concurrencyCases: readonly BlobCase[] = [
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
]
