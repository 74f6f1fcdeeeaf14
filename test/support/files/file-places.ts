/** Places for vaults with files: a storage, a blob store, and what is in both below the vault. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { folderBlobs } from '../../../src/adapters/blobs/folder-blobs.ts'
import { BLOB_PIECE_BYTES, databaseBlobs } from '../../../src/core/file-store/database-blobs.ts'
import type { BlobStore } from '../../../src/core/ports/blobs.ts'
import type { Row, StorageHandle } from '../../../src/core/ports/storage.ts'
import { BLOB_PIECES, BLOBS, FILES } from '../../../src/core/schema/system-tables.ts'
import { memoryBlobs, memoryPlace } from '../blobs/memory-blobs.ts'
import { type Engine, onFresh, type Place, type Places } from '../storages/places.ts'
import { openDescriptors } from '../trials/open-descriptors.ts'

/** The blob stores, by name. */
export const BLOB_STORES = ['memory', 'folder', 'database'] as const

export type BlobStoreName = (typeof BLOB_STORES)[number]

/** Blobs below a store. */
export interface StoredBlobs {
  /** The folder; undefined for blobs in memory. */
  readonly directory: string | undefined
  /** A handle, beside a handle on the storage. */
  open(storage: StorageHandle): BlobStore
  /** The keys of all blobs, and of what remains of unfinished writes. */
  keys(): Promise<readonly string[]>
  /** The bytes of a blob. */
  read(key: string): Promise<Uint8Array>
  /** Replaces the bytes of a blob. */
  overwrite(key: string, bytes: Uint8Array): Promise<void>
  /** Number of descriptors of this process that are open on a blob. */
  descriptors(): number
  remove(): void
}

/** A storage and a blob store. */
export interface FilePlace {
  readonly engine: string
  readonly store: BlobStoreName
  /** A handle on the storage that its vault cannot close: another vault may use it. */
  storage(): StorageHandle
  readonly blobs: StoredBlobs
  /** Rows of the table of files, by id. */
  fileRows(): Promise<readonly Row[]>
}

/** Blobs of a store that is empty. The caller removes them. */
function openBlobs(store: BlobStoreName, reading: StorageHandle): StoredBlobs {
  switch (store) {
    case 'memory':
      return blobsInMemory()
    case 'folder':
      return blobsInFolder(mkdtempSync(join(tmpdir(), 'strongroom-blobs-')))
    case 'database':
      return blobsInDatabase(reading)
  }
}

/** Takes turns with the engines and the blob stores. */
export function turnOf(places: Places, number: number): { readonly engine: Engine; readonly store: BlobStoreName } {
  const engines = [places.memory, places.sqlite, places.postgres] as const
  const engine = engines[number % engines.length] ?? places.memory
  return { engine, store: BLOB_STORES[Math.floor(number / engines.length) % BLOB_STORES.length] ?? 'memory' }
}

/** Number of turns after which each engine was together with each blob store. */
export const TURNS = 3 * BLOB_STORES.length

/** Runs work on an empty storage of an engine, with a blob store of its own beside it, and deletes both. */
export function onFreshFiles<Result>(
  { engine, store }: { readonly engine: Engine; readonly store: BlobStoreName },
  work: (place: FilePlace) => Promise<Result>,
): Promise<Result> {
  return onFresh(engine, (place) => withBlobs({ engine: engine.name, place, store }, work))
}

/** Runs work with a blob store of its own beside a storage, and deletes the blobs. */
export async function withBlobs<Result>(
  { engine, place, store }: { readonly engine: string; readonly place: Place; readonly store: BlobStoreName },
  work: (place: FilePlace) => Promise<Result>,
): Promise<Result> {
  const reading = place.open()
  const blobs = openBlobs(store, reading)
  const fileRows = async () => {
    await reading.prepare([FILES])
    return reading.find(FILES.name, { kind: 'all' }, { order: 'asc', limit: 1_000_000 })
  }
  try {
    return await work({ engine, store, blobs, fileRows, storage: () => unclosed(place.open()) })
  } finally {
    blobs.remove()
  }
}

/** A storage that stays open: the place closes it. */
function unclosed(storage: StorageHandle): StorageHandle {
  return { ...storage, transaction: (work) => storage.transaction(work), close: async () => {} }
}

function blobsInMemory(): StoredBlobs {
  const place = memoryPlace()
  return {
    directory: undefined,
    open: () => memoryBlobs(place),
    keys: async () => [...place.blobs.keys(), ...place.unfinished.keys()],
    read: async (key) => place.blobs.get(key) ?? missing(key),
    overwrite: async (key, bytes) => void place.blobs.set(key, bytes.slice()),
    descriptors: () => 0,
    remove: () => place.blobs.clear(),
  }
}

/** Blobs in a folder, which exists. */
export function blobsInFolder(directory: string): StoredBlobs {
  const pathOf = (key: string) => join(directory, key.slice(0, 2), key)
  return {
    directory,
    open: () => folderBlobs({ directory }),
    keys: async () => filesIn(directory),
    read: async (key) => readFileSync(pathOf(key)),
    overwrite: async (key, bytes) => writeFileSync(pathOf(key), bytes),
    descriptors: () => descriptorsIn(directory),
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}

/** Rows of blobs, and of pieces: a piece without its blob has a key of its own. */
export function blobsInDatabase(storage: StorageHandle): StoredBlobs {
  const every = { order: 'asc', limit: 1_000_000 } as const
  const rows = async () => {
    await storage.prepare([BLOBS, BLOB_PIECES])
    return storage.find(BLOBS.name, { kind: 'all' }, every)
  }
  const rowOf = async (key: string) => (await rows()).find((row) => row.key === key) ?? missing(key)
  const piecesOf = async (id: number) => {
    const pieces = await storage.find(BLOB_PIECES.name, { kind: 'all' }, every)
    return pieces.filter((piece) => Math.floor(piece.id / PIECE_IDS) === id)
  }
  return {
    directory: undefined,
    open: (own) => databaseBlobs(own),
    async keys() {
      const blobs = await rows()
      const ids = new Set(blobs.map(({ id }) => id))
      const pieces = await storage.find(BLOB_PIECES.name, { kind: 'all' }, { ...every, columns: [] })
      const orphans = pieces.filter(({ id }) => !ids.has(Math.floor(id / PIECE_IDS)))
      return [...blobs.map(({ key }) => String(key)), ...orphans.map(({ id }) => `piece ${id}`)]
    },
    async read(key) {
      const pieces = await piecesOf((await rowOf(key)).id)
      return Buffer.concat(pieces.flatMap(({ content }) => (content instanceof Uint8Array ? [content] : [])))
    },
    async overwrite(key, bytes) {
      const { id, version } = await rowOf(key)
      await storage.delete(BLOB_PIECES.name, { ids: (await piecesOf(id)).map((piece) => piece.id) })
      const pieces = Array.from({ length: Math.ceil(bytes.length / BLOB_PIECE_BYTES) }, (_, index) => ({
        id: id * PIECE_IDS + index,
        content: bytes.slice(index * BLOB_PIECE_BYTES, (index + 1) * BLOB_PIECE_BYTES),
      }))
      await storage.insert(BLOB_PIECES.name, pieces)
      await storage.update(BLOBS.name, [{ id, version, set: { pieces: pieces.length, size: bytes.length } }])
    },
    descriptors: () => 0,
    remove: () => {},
  }
}

/** Row ids of the pieces of one blob. */
const PIECE_IDS = 2 ** 18

/** The names of all files below a folder: keys, and keys with a suffix. */
export function filesIn(directory: string): string[] {
  const entries = readdirSync(directory, { withFileTypes: true, recursive: true })
  return entries.flatMap((entry) => (entry.isFile() ? [entry.name] : []))
}

function descriptorsIn(directory: string): number {
  return openDescriptors().filter((target) => target.startsWith(directory)).length
}

function missing(key: string): never {
  throw new Error(`There is no blob ${key}.`)
}
