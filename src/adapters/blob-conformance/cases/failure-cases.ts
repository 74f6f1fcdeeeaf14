/** Clause F: content that throws leaves nothing, and its error is rethrown. */

import { VaultError } from '../../../core/errors.ts'
import { assert, assertEqual, assertRejects, rejectionOf } from '../../conformance/assert.ts'
import { type BlobCase, type BlobFixture, blobCase } from '../blob-case.ts'
import { assertBytes, inChunks, KIB, keyOf, LARGE, MIB, put, read, sampleBytes } from '../sample.ts'

/** Writes content that throws after some bytes, and asserts that nothing remains. */
async function assertNothingRemains({ store, stored }: BlobFixture, length: number, thrown: unknown): Promise<void> {
  const key = keyOf(7)
  const rejection = await rejectionOf(store.write(key, throwingAfter(sampleBytes(length), thrown)), 'the write')
  assert(rejection === thrown, `what content threw after ${length} bytes should come out as the very same object`)
  assertEqual(await stored(key), undefined, `what remains after ${length} bytes`)
  await assertRejects(read(store, key), 'not_found', 'a read of the blob')
}

async function* throwingAfter(bytes: Uint8Array, thrown: unknown): AsyncGenerator<Uint8Array> {
  yield* inChunks(bytes, 64 * KIB)
  throw thrown
}

export const failureCases: readonly BlobCase[] = [
  blobCase('F1 content that throws before its first byte leaves nothing', (fixture) =>
    assertNothingRemains(fixture, 0, new Error('thrown on purpose')),
  ),
  blobCase('F2 content that throws in the middle leaves nothing', async (fixture) => {
    for (const length of [1, 64 * KIB, MIB, MIB + 1, LARGE, 2 * LARGE])
      await assertNothingRemains(fixture, length, new Error('thrown on purpose'))
  }),
  blobCase('F3 errors that look like those of a store, and what is no error, are rethrown unchanged', async (fixture) => {
    const looksLikeFile = Object.assign(new Error('thrown on purpose'), { code: 'ENOSPC' })
    const looksLikeRequest = Object.assign(new Error('thrown on purpose'), {
      name: 'NoSuchKey',
      $metadata: { httpStatusCode: 404 },
    })
    const own = new VaultError('not_found', 'thrown on purpose')
    const full = new VaultError('conflict', 'thrown on purpose')
    for (const thrown of [looksLikeFile, looksLikeRequest, own, full, 'a text', undefined])
      await assertNothingRemains(fixture, MIB + 5, thrown)
  }),
  blobCase('F4 a write that failed does not affect other blobs', async (fixture) => {
    const bytes = sampleBytes(MIB + 9)
    await put(fixture.store, keyOf(1), bytes)
    await assertNothingRemains(fixture, LARGE, new Error('thrown on purpose'))
    assertBytes(await read(fixture.store, keyOf(1)), bytes)
    await put(fixture.store, keyOf(2), bytes)
    assertBytes(await read(fixture.store, keyOf(2)), bytes)
  }),
]
