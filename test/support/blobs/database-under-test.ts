/** Blobs in a database for the conformance suite, and what is in its tables below the store. */
import type { BlobsUnderTest } from '../../../src/conformance/blobs/index.ts'
import { databaseBlobs } from '../../../src/core/file-store/database-blobs.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { BLOB_PIECES, BLOBS } from '../../../src/core/schema/system-tables.ts'
import type { Place } from '../storages/places.ts'

/** Lengths of pieces, by id. */
type Lengths = Map<number, number>

/** Bytes of the pieces of a key, and of those that no blob has; undefined if there is no row. Of pieces in `known`, which never change, no content is read. */
export async function storedInDatabase(
  storage: StorageHandle,
  key: string,
  known: Lengths = new Map(),
): Promise<number | undefined> {
  const page = { order: 'asc', limit: 1_000_000 } as const
  const blobs = await storage.find(BLOBS.name, { kind: 'all' }, page)
  const own = blobs.find((row) => row.key === key)
  const others = new Set(blobs.flatMap((row) => (row === own ? [] : [row.id])))
  let bytes = 0
  let rows = 0
  for (const { id } of await storage.find(BLOB_PIECES.name, { kind: 'all' }, { ...page, columns: [] })) {
    if (others.has(Math.floor(id / 2 ** 18))) continue
    const length = known.get(id) ?? (await lengthOf(storage, id))
    known.set(id, length)
    bytes += length
    rows++
  }
  return own === undefined && rows === 0 ? undefined : bytes
}

async function lengthOf(storage: StorageHandle, id: number): Promise<number> {
  const [row] = await storage.get(BLOB_PIECES.name, [id])
  return row?.content instanceof Uint8Array ? row.content.length : 0
}

/** `next` returns a place where nothing was stored. */
export function databaseUnderTest(next: () => Place): BlobsUnderTest {
  let place: Place | undefined
  let watching: StorageHandle | undefined
  let known: Lengths = new Map()
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
      known = new Map()
      return databaseBlobs(await openStorage())
    },
    reopen: async () => databaseBlobs(await openStorage()),
    stored: async (key) => (watching === undefined ? undefined : storedInDatabase(watching, key, known)),
  }
}
