/** Clause K: only keys are taken, and a key without a blob is not found. */

import { assertRejects } from '../../conformance/assert.ts'
import { type BlobCase, blobCase } from '../blob-case.ts'
import { assertBytes, inChunks, keyOf, put, read, sampleBytes } from '../sample.ts'

/** Texts that are no key. */
const NO_KEYS = [
  '',
  'a',
  keyOf(1).slice(1),
  `${keyOf(1)}0`,
  keyOf(1).toUpperCase().replace(/^./, 'A'),
  `../${keyOf(1).slice(3)}`,
  `${keyOf(1).slice(0, 31)}/`,
  `${keyOf(1).slice(0, 31)}\0`,
  `${keyOf(1)}\n`,
]

export const keyCases: readonly BlobCase[] = [
  blobCase('K1 a read of a key without a blob throws not_found', async ({ store }) => {
    await put(store, keyOf(1), sampleBytes(10))
    await assertRejects(read(store, keyOf(2)), 'not_found', 'a read')
    await assertRejects(read(store, keyOf(2), { start: 5, end: 6 }), 'not_found', 'a read of one byte')
    await assertRejects(read(store, keyOf(2), { start: 5, end: 5 }), 'not_found', 'a read of an empty range')
  }),
  blobCase('K2 what is no key is refused with internal', async ({ store }) => {
    for (const key of NO_KEYS) {
      await assertRejects(store.write(key, inChunks(sampleBytes(10))), 'internal', 'a write')
      await assertRejects(read(store, key), 'internal', 'a read')
      await assertRejects(store.delete([key]), 'internal', 'a deletion')
    }
  }),
  blobCase('K3 a deletion with a key that is refused deletes nothing', async ({ store }) => {
    const bytes = sampleBytes(10)
    await put(store, keyOf(1), bytes)
    await assertRejects(store.delete([keyOf(1), '..']), 'internal', 'the deletion')
    assertBytes(await read(store, keyOf(1)), bytes)
  }),
]
