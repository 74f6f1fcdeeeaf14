/** Blobs in a database for the conformance suite, and what is in its tables below the store. */
import type { BlobsUnderTest } from '../../../src/conformance/blobs/index.ts'
import { databaseBlobs } from '../../../src/core/file-store/database-blobs.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { BLOB_PIECES, BLOBS } from '../../../src/core/schema/system-tables.ts'
import type { Place } from '../storages/places.ts'

/** Bytes of the pieces of a key, and of those that no blob has; undefined if there is no row. */
export async function storedInDatabase(storage: StorageHandle, key: string): Promise<number | undefined> {
  const page = { order: 'asc', limit: 1_000_000 } as const
  const blobs = await storage.find(BLOBS.name, { kind: 'all' }, page)
  const own = blobs.find((row) => row.key === key)
  const others = new Set(blobs.flatMap((row) => (row === own ? [] : [row.id])))
  let bytes = 0
  let rows = 0
  for (const { id } of await storage.find(BLOB_PIECES.name, { kind: 'all' }, { ...page, columns: [] })) {
    if (others.has(Math.floor(id / 2 ** 18))) continue
    const [row] = await storage.get(BLOB_PIECES.name, [id])
    bytes += row?.content instanceof Uint8Array ? row.content.length : 0
    rows++
  }
  return own === undefined && rows === 0 ? undefined : bytes
}

/** `next` returns a place where nothing was stored. */
export function databaseUnderTest(next: () => Place): BlobsUnderTest {
  let place: Place | undefined
  let watching: StorageHandle | undefined
  async function openStorage(): Promise<StorageHandle> {
    if (place === undefined) throw new Error('Open a store first.')
    const storage = place.open()
    await storage.prepare([BLOBS, BLOB_PIECES])
    return storage
  }
  return {
    async open() {
      place = next()
      watching = await openStorage()
      return databaseBlobs(await openStorage())
    },
    reopen: async () => databaseBlobs(await openStorage()),
    stored: async (key) => (watching === undefined ? undefined : storedInDatabase(watching, key)),
  }
}
