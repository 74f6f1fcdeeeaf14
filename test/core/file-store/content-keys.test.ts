/** The key of a content: only the sealed row of its file has it, so that the row alone is sealed again after a rotation, and its end is the end of the content. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { openCatalog } from '../../../src/core/catalog/open-catalog.ts'
import { readFiles } from '../../../src/core/file-store/file-rows.ts'
import type { KeyRing } from '../../../src/core/ports/crypto.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { FILES } from '../../../src/core/schema/system-tables.ts'
import { bodiesOf, readVersion, resealBodies } from '../../../src/core/sealing/envelope.ts'
import { openPieces } from '../../../src/core/sealing/file-pieces.ts'
import { slabItem, toSlab } from '../../../src/core/util/memory.ts'
import { bytesOf, countedBlobs, fileSchema, openFileVault, scriptedScanner } from '../../support/files/open-file-vault.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { addKey } from '../../support/vaults/planted-rotation.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { TEST_SECRET } from '../../support/vaults/test-vault.ts'

/** Every purpose that a key of a vault has, and those that it once had. */
const PURPOSES = ['file', 'file-entry', 'record', 'catalog', 'ring', 'audit', 'ticket', 'credential']

async function barrierOf(storage: StorageHandle) {
  const keys = localKeys({ key: TEST_SECRET })
  return (await openCatalog({ ...SYSTEM_PORTS, storage, keys }, 'v1', fileSchema.tables)).barrier
}

/** The versions of the root keys that the rows of files are sealed with. */
async function sealedWith(storage: StorageHandle): Promise<number[]> {
  const rows = await storage.find(FILES.name, { kind: 'all' }, { order: 'asc', limit: 10 })
  return rows.map(({ body }) => (body instanceof Uint8Array ? readVersion(body, 0, body.length) : 0))
}

/** Seals the rows of all files with the active key, as a rotation does. */
async function resealRows(storage: StorageHandle): Promise<void> {
  const { ring, vault } = await barrierOf(storage)
  const rows = await storage.find(FILES.name, { kind: 'all' }, { order: 'asc', limit: 10 })
  const sealed = rows.map(({ body }) => (body instanceof Uint8Array ? body : new Uint8Array(0)))
  const { resealed } = resealBodies({ ring, vault }, bodiesOf('file'), { ids: rows.map(({ id }) => id), sealed })
  await storage.update(
    FILES.name,
    rows.map(({ id, version }, index) => ({ id, version, set: { body: resealed[index] ?? null } })),
  )
}

/** Returns a first piece that one of the vault's own keys opens, under the associated data of its position. */
function openedByRing(ring: KeyRing, { key, file }: { key: string; file: number }, piece: Uint8Array): boolean {
  const opens = (headerBytes: number, purpose: string, version: number): boolean => {
    const contentKey = {
      seal: () => toSlab([]),
      open: (_: number, bodies: ReturnType<typeof toSlab>, associatedData: Uint8Array) =>
        ring.open(purpose, headerBytes, Uint16Array.of(version), bodies, associatedData),
      close() {},
    }
    return openPieces({ contentKey, key, file, first: 0, count: 1 }, toSlab([piece])).opened[0] === 1
  }
  return [1, 3].some((headerBytes) =>
    PURPOSES.some((purpose) => [0, 1, 2, 3].some((version) => opens(headerBytes, purpose, version))),
  )
}

onEachStorage('the key of a content', (engine) => {
  it('is in the row of the file alone: without the row no key of the vault opens the content', async () => {
    const { vault, session, storage, blobs } = await openFileVault(engine.fresh().open())
    for (const text of ['one person', 'another person'])
      await session.uploadFile({ table: 'people', column: 'paper', file: Buffer.from(text) })
    const { ring, vault: digest } = await barrierOf(storage)
    const rows = await storage.find(FILES.name, { kind: 'all' }, { order: 'asc', limit: 2 })
    const [one, other] = await readFiles(
      storage,
      { ring, vault: digest },
      rows.map(({ id }) => id),
    )
    const [entry, wrong] = [one?.entry, other?.entry]
    if (one === undefined || entry === undefined || wrong === undefined) throw new Error('no rows')
    const piece = blobs.stored.get(entry.key) ?? new Uint8Array(0)
    const address = { key: entry.key, file: one.id, first: 0, count: 1 }
    const openWith = (secret: Uint8Array) => openPieces({ ...address, contentKey: ring.contentKey(secret) }, toSlab([piece]))
    // The row opens it: what fails below does not fail because of its address.
    expect(Buffer.from(slabItem(openWith(entry.secret).plaintexts, 0)).toString()).toBe('one person')
    expect(openWith(wrong.secret).opened[0]).toBe(0)
    expect(openWith(new Uint8Array(32)).opened[0]).toBe(0)
    expect(openedByRing(ring, address, piece)).toBe(false)
    await vault.close()
  })

  it('is sealed again with the row, and the content stays as it is', async () => {
    const place = engine.fresh()
    const blobs = countedBlobs()
    const before = await openFileVault(place.open(), { blobs })
    const file = Buffer.alloc(150_000, 'content')
    const { id } = await before.session.uploadFile({ table: 'people', column: 'paper', file })
    const stored = [...blobs.stored].map(([key, bytes]) => [key, Buffer.from(bytes)] as const)
    const other = place.open()
    // A stream that has begun goes on across the rotation, also after this process has read the new keys.
    const { stream } = await before.session.openFile('people', id, 'paper')
    const chunks = stream[Symbol.asyncIterator]()
    const first = await chunks.next()
    await addKey(other, fileSchema.tables)
    await resealRows(other)
    expect(await sealedWith(other)).toEqual([3])
    const after = await openFileVault(place.open(), { blobs })
    for (const { session } of [before, after]) {
      const opened = await session.openFile('people', id, 'paper')
      expect((await bytesOf(opened.stream)).equals(file)).toBe(true)
    }
    const rest = await bytesOf({ [Symbol.asyncIterator]: () => chunks })
    expect(Buffer.concat([first.value ?? new Uint8Array(0), rest]).equals(file)).toBe(true)
    expect([...blobs.stored].map(([key, bytes]) => [key, Buffer.from(bytes)])).toEqual(stored)
  })

  it('is found by what removes and scans, in a process that does not know the new root key yet', async () => {
    const place = engine.fresh()
    const blobs = countedBlobs()
    const scanner = scriptedScanner(() => 'clean')
    const before = await openFileVault(place.open(), { blobs, scanner, audit: 'off' })
    const other = place.open()
    const uploading = await openFileVault(other, { blobs, audit: 'off' })
    const { id } = await uploading.session.uploadFile({ table: 'people', column: 'paper', file: Buffer.from('scanned') })
    await addKey(other, fileSchema.tables)
    await resealRows(other)
    expect(await before.vault.scanFiles()).toEqual({ scanned: 1 })
    const after = await openFileVault(place.open(), { blobs })
    expect(await after.session.fileStatus('people', id, 'paper')).toMatchObject({ avScanStatus: 'SCAN_CLEAN' })
    await addKey(other, fileSchema.tables)
    await resealRows(other)
    await after.session.deleteOne('people', id)
    expect(blobs.keys()).toEqual([])
  })

  it('is stored under the active root key by a process that does not know it yet, while it uploads and after a failed scan', async () => {
    const place = engine.fresh()
    const other = place.open()
    let scanning = async (): Promise<void> => {}
    const scanner = scriptedScanner(async () => {
      await scanning()
      throw new Error('the scanner is away')
    })
    const before = await openFileVault(place.open(), { scanner, audit: 'off' })
    await openFileVault(other)
    await addKey(other, fileSchema.tables)
    const versions: number[][] = []
    const file = (async function* () {
      versions.push(await sealedWith(other))
      yield Buffer.from('content')
    })()
    scanning = () => addKey(other, fileSchema.tables)
    await before.session.uploadFile({ table: 'people', column: 'paper', file })
    expect(versions).toEqual([[3]])
    await before.vault.scanFiles()
    expect((await sealedWith(other))[0]).toBeGreaterThan(3)
  })

  it('goes on being uploaded while a rotation seals the row again', async () => {
    const place = engine.fresh()
    const blobs = countedBlobs()
    const uploading = await openFileVault(place.open(), { blobs })
    const rotating = await openFileVault(place.open(), { blobs })
    const file = (async function* () {
      yield Buffer.from('before ')
      expect(await rotating.vault.rotateKeys()).toMatchObject({ complete: true, resealed: { 'system.files': 1 } })
      yield Buffer.from('after')
    })()
    const { id } = await uploading.session.uploadFile({ table: 'people', column: 'paper', file })
    for (const { session } of [uploading, rotating])
      expect((await bytesOf((await session.openFile('people', id, 'paper')).stream)).toString()).toBe('before after')
    expect(await sealedWith(rotating.storage)).toEqual([3])
  })

  it('that cannot be read to its end fails by that, although a rotation changed the catalog meanwhile', async () => {
    const place = engine.fresh()
    const uploading = await openFileVault(place.open())
    const rotating = await openFileVault(place.open())
    const file = (async function* () {
      yield Buffer.from('before ')
      await rotating.vault.rotateKeys()
      throw new Error('the client is gone')
    })()
    const upload = uploading.session.uploadFile({ table: 'people', column: 'paper', file })
    await expect(upload).rejects.toThrow(expect.objectContaining({ message: expect.not.stringContaining('empty file') }))
  })
})
