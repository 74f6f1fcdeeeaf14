/** What is not there. Clause D: what is deleted is gone, and nothing else is; K: only keys are taken, and one without a blob is not found. */
import { isVaultError } from '../../../core/errors.ts'
import { assert, assertEqual, assertRejects } from '../../assert.ts'
import { type BlobCase, blobCase } from '../blob-case.ts'
import { assertBytes, BEYOND, inChunks, keyOf, LARGE, MIB, pausedWrite, put, read, sampleBytes } from '../sample.ts'

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

export const deleteCases: readonly BlobCase[] = [
  blobCase('D1 a deleted blob leaves nothing', async ({ store, stored }) => {
    for (const [at, size] of [0, 1, MIB, LARGE].entries()) {
      await put(store, keyOf(at), sampleBytes(size))
      await store.delete([keyOf(at)])
      await assertRejects(read(store, keyOf(at)), 'not_found', 'a read of a deleted blob')
      assertEqual(await stored(keyOf(at)), undefined, `what remains of a blob of ${size} bytes`)
    }
  }),
  blobCase('D2 deleting again, and keys without a blob, are no error', async ({ store }) => {
    await put(store, keyOf(1), sampleBytes(10))
    await store.delete([keyOf(1), keyOf(1)])
    await store.delete([keyOf(1)])
    await store.delete([keyOf(2), keyOf(3)])
    await store.delete([])
  }),
  blobCase('D3 of many keys each blob is deleted, and no other', async ({ store, stored }) => {
    const keys = Array.from({ length: 60 }, (_, at) => keyOf(at))
    for (const [at, key] of keys.entries()) await put(store, key, sampleBytes(100 + at, at))
    const deleted = keys.filter((_, at) => at % 3 !== 0)
    await store.delete([...deleted, keyOf(1000)])
    for (const key of deleted) assertEqual(await stored(key), undefined, 'what remains of a deleted blob')
    for (const [at, key] of keys.entries())
      if (at % 3 === 0) assertBytes(await read(store, key), sampleBytes(100 + at, at), 'a blob that was not deleted')
  }),
  blobCase('D4 keys that differ in one digit are different blobs', async ({ store }) => {
    const keys = ['0123456789abcdef0123456789abcde0', '0123456789abcdef0123456789abcde1', '1123456789abcdef0123456789abcde0']
    for (const [at, key] of keys.entries()) await put(store, key, sampleBytes(MIB + at, at))
    await store.delete(keys.slice(0, 1))
    for (const [at, key] of keys.entries()) if (at > 0) assertBytes(await read(store, key), sampleBytes(MIB + at, at))
  }),
  blobCase('D5 what remains of an unfinished write is deleted', async ({ store, another, stored }) => {
    const other = await another()
    const write = pausedWrite(store, keyOf(1), sampleBytes(2 * LARGE), sampleBytes(100))
    await write.isPaused
    assert((await stored(keyOf(1))) !== undefined, 'something of a paused write of 18 MiB should be stored')
    await other.delete([keyOf(1)])
    assertEqual(await stored(keyOf(1)), undefined, 'what remains of the unfinished write')
    write.release()
    await write.end
  }),
  blobCase('D6 a blob that is deleted while it is written is whole or absent', async ({ store, another, stored }) => {
    const other = await another()
    const [first, rest] = [sampleBytes(2 * LARGE), sampleBytes(LARGE)]
    const write = pausedWrite(store, keyOf(1), first, rest)
    await write.isPaused
    await other.delete([keyOf(1)])
    write.release()
    const result = await write.end
    if (result.kind === 'written') assertEqual((await read(other, keyOf(1))).length, 3 * LARGE, 'the length of the blob')
    else {
      assert(isVaultError(result.error), 'a write whose blob was deleted should reject with a VaultError')
      await assertRejects(read(other, keyOf(1)), 'not_found', 'a read of the deleted blob')
    }
    await other.delete([keyOf(1)])
    assertEqual(await stored(keyOf(1)), undefined, 'what remains after another deletion')
  }),
  blobCase('D7 a blob that is deleted while it is read is read whole, or the read fails', async ({ store, another }) => {
    const other = await another()
    const bytes = sampleBytes(2 * LARGE)
    await put(store, keyOf(1), bytes)
    let at = 0
    try {
      for await (const chunk of store.read(keyOf(1), { start: 0, end: BEYOND })) {
        if (at === 0) await other.delete([keyOf(1)])
        assertBytes(chunk, bytes.subarray(at, at + chunk.length), `the chunk at ${at}`)
        at += chunk.length
      }
    } catch (error) {
      if (!isVaultError(error)) throw error
      assert(error.code === 'not_found' || error.code === 'unavailable', `the read should not fail with ${error.code}`)
      return
    }
    assertEqual(at, bytes.length, 'the number of bytes of a read that did not fail')
  }),
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
