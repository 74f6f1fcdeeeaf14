/** The memory of chunks: sealed pieces are freed after their use, so that a long file takes none that the garbage collector would have to find. */
import { expect, it } from 'vitest'
import type { BlobStore } from '../../../src/core/ports/blobs.ts'
import { memoryBlobs, memoryPlace } from '../../support/blobs/memory-blobs.ts'
import { bytesOf, openFileVault } from '../../support/files/open-file-vault.ts'
import { memoryEngine } from '../../support/storages/engines.ts'

/** Some batches of sealed pieces, and a last one that is shorter. */
const CONTENT = Buffer.alloc(1024 * 1024 + 100_000, 'content ')

it('is freed: of an upload when the store asks for the next chunk, and of a file that is opened when its pieces are open', async () => {
  const { blobs, written, read } = watchedBlobs()
  const { session } = await openFileVault(memoryEngine().fresh().open(), { blobs })
  const { records } = await session.insert('teams', [{ fields: { name: 'Blue' } }])
  const id = records[0]?.id ?? ''
  await session.uploadFile({ table: 'teams', id, column: 'badge', file: CONTENT })
  expect(written.length).toBeGreaterThan(4)
  expect(written.map(({ length }) => length)).toEqual(written.map(() => 0))
  const { stream } = await session.openFile('teams', id, 'badge')
  expect((await bytesOf(stream)).equals(CONTENT)).toBe(true)
  expect(read.length).toBeGreaterThan(4)
  expect(read.map(({ length }) => length)).toEqual(read.map(() => 0))
})

it('is their own for a short file, so that a store or a reader can transfer it', async () => {
  const { blobs, written } = watchedBlobs()
  const { session } = await openFileVault(memoryEngine().fresh().open(), { blobs })
  const { records } = await session.insert('teams', [{ fields: { name: 'Blue' } }])
  const id = records[0]?.id ?? ''
  await session.uploadFile({ table: 'teams', id, column: 'badge', file: Buffer.from('a short file') })
  const { stream } = await session.openFile('teams', id, 'badge')
  const opened: Uint8Array[] = []
  for await (const chunk of stream) opened.push(chunk)
  const chunks = [...written, ...opened].filter(({ length }) => length > 0)
  expect(chunks.length).toBeGreaterThan(1)
  expect(chunks.map(({ buffer }) => buffer.byteLength)).toEqual(chunks.map(({ length }) => length))
})

/** A store, and the chunks that it got and gave. */
function watchedBlobs(): { readonly blobs: BlobStore; readonly written: Uint8Array[]; readonly read: Uint8Array[] } {
  const store = memoryBlobs(memoryPlace())
  const written: Uint8Array[] = []
  const read: Uint8Array[] = []
  async function* watched(chunks: AsyncIterable<Uint8Array>, seen: Uint8Array[]): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      seen.push(chunk)
      yield chunk
    }
  }
  const blobs: BlobStore = {
    ...store,
    write: (key, content) => store.write(key, watched(content, written)),
    read: (key, range) => watched(store.read(key, range), read),
  }
  return { blobs, written, read }
}
