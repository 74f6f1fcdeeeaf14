/** Clause R: a read gives the bytes of its range, and no others. */

import { assert, assertEqual, assertRejects } from '../../conformance/assert.ts'
import { type BlobCase, blobCase } from '../blob-case.ts'
import { assertBytes, BEYOND, KIB, keyOf, LARGE, MIB, put, read, sampleBytes } from '../sample.ts'

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

export const rangeCases: readonly BlobCase[] = [
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
]
