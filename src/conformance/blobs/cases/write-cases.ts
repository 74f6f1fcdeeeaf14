/** What a write leaves. Clause W: a whole blob or none; F: nothing of content that throws; S: no more memory than it needs. */
import { VaultError } from '../../../core/errors.ts'
import { assert, assertEqual, assertRejects, rejectionOf } from '../../assert.ts'
import { type BlobCase, type BlobFixture, blobCase } from '../blob-case.ts'
import { assertBytes, BEYOND, inChunks, KIB, keyOf, LARGE, MIB, pausedWrite, put, read, sampleBytes } from '../sample.ts'

/** Bytes that a store may have read from content and not stored yet. */
const MAX_AHEAD = 20 * MIB

const ENOUGH = 48 * MIB

export const writeCases: readonly BlobCase[] = [
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
