/** Blobs in each database: the conformance suite, and what is special to rows. */
import { describe, expect, it } from 'vitest'
import { inChunks, keyOf, put, read, sampleBytes } from '../../../src/conformance/blobs/sample.ts'
import { databaseBlobs } from '../../../src/core/file-store/database-blobs.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { BLOB_PIECES, BLOBS } from '../../../src/core/schema/system-tables.ts'
import { databaseUnderTest } from '../../support/blobs/database-under-test.ts'
import { runBlobCases } from '../../support/blobs/run-blob-cases.ts'
import { ENGINES, onEachStorage } from '../../support/storages/engines.ts'

for (const [name, setUp] of Object.entries(ENGINES)) {
  describe(`blobs on ${name}`, () => {
    const engine = setUp()
    runBlobCases(`${name} database`, () => databaseUnderTest(() => engine.fresh()))
  })
}

const ALL = { order: 'asc', limit: 1000, columns: [] } as const

async function errorOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  )
}

onEachStorage('blobs in a database', (engine) => {
  async function open(): Promise<StorageHandle> {
    const storage = engine.fresh().open()
    await storage.prepare([BLOBS, BLOB_PIECES])
    return storage
  }

  it('are pieces of 64 KiB', async () => {
    const storage = await open()
    await put(databaseBlobs(storage), keyOf(1), sampleBytes(150_000))
    const pieces = await storage.find(BLOB_PIECES.name, { kind: 'all' }, { order: 'asc', limit: 10 })
    expect(pieces.map(({ content }) => (content instanceof Uint8Array ? content.length : 0))).toEqual([65_536, 65_536, 18_928])
  })

  it('refuse a second write of their key, and keep what they have', async () => {
    const storage = await open()
    const store = databaseBlobs(storage)
    await put(store, keyOf(1), sampleBytes(100))
    expect(await errorOf(put(store, keyOf(1), sampleBytes(200, 2)))).toMatchObject({ code: 'internal' })
    expect(await read(store, keyOf(1))).toEqual(sampleBytes(100))
  })

  it('are data_loss if a piece was taken out, shortened or added, and nothing of it is given', async () => {
    const storage = await open()
    const store = databaseBlobs(storage)
    await put(store, keyOf(1), sampleBytes(200_000))
    const pieces = await storage.find(BLOB_PIECES.name, { kind: 'all' }, ALL)
    const [, second, third] = pieces
    if (second === undefined || third === undefined) throw new Error('There are four pieces.')
    await storage.update(BLOB_PIECES.name, [{ id: third.id, version: 1, set: { content: sampleBytes(65_535) } }])
    expect(await errorOf(read(store, keyOf(1)))).toMatchObject({ code: 'data_loss' })
    await storage.delete(BLOB_PIECES.name, { ids: [second.id] })
    expect(await errorOf(read(store, keyOf(1), { start: 70_000, end: 70_001 }))).toMatchObject({ code: 'data_loss' })
    expect((await read(store, keyOf(1), { start: 0, end: 65_536 })).length).toBe(65_536)
    const [blob] = await storage.find(BLOBS.name, { kind: 'all' }, ALL)
    await storage.update(BLOBS.name, [{ id: blob?.id ?? 0, version: 1, set: { size: 100_000 } }])
    expect(await errorOf(read(store, keyOf(1)))).toMatchObject({ code: 'data_loss' })
    await store.delete([keyOf(1)])
    expect(await storage.find(BLOB_PIECES.name, { kind: 'all' }, ALL)).toEqual([])
  })

  it('survive a rollback of the transaction that stored their last piece, as unfinished writes', async () => {
    const storage = await open()
    const failing: StorageHandle = {
      ...storage,
      transaction: (work) =>
        storage.transaction(async (inner) => {
          const result = await work(inner)
          const [blob] = await inner.find(BLOBS.name, { kind: 'all' }, { order: 'asc', limit: 1 })
          if (blob !== undefined && blob.size !== null) throw new Error('rolled back on purpose')
          return result
        }),
    }
    const content = inChunks(sampleBytes(3_000_000), 100_000)
    expect(await errorOf(databaseBlobs(failing).write(keyOf(1), content))).toMatchObject({ message: 'rolled back on purpose' })
    expect(await errorOf(read(databaseBlobs(storage), keyOf(1)))).toMatchObject({ code: 'not_found' })
    expect(await storage.find(BLOB_PIECES.name, { kind: 'all' }, ALL)).toEqual([])
  })
})
