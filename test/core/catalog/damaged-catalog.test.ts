/** Tests that a damaged catalog is reported as data loss. */
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { raiseHeads, STORED_FORMAT, sealState } from '../../../src/core/catalog/catalog-entries.ts'
import { fingerprintOf, openCatalog } from '../../../src/core/catalog/open-catalog.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { column, createVault, defineSchema } from '../../../src/index.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const SCHEMA_ENTRY = { kind: 'compare', column: 'entry', operator: '=', value: 'schema' } as const

it.each([
  ['vault', 'the catalog has no vault id'],
  ['root/2', 'root key 2 is missing from the catalog'],
  ['ring', 'the older root keys in the catalog are missing or failed authentication'],
  ['schema', 'the catalog has no schema'],
])('throws data_loss if the entry %s is missing', async (entry, problem) => {
  const storage = memoryStorage()
  const schema = defineSchema({ things: { name: column.string() } })
  const open = () => createVault({ id: 'v', schema, storage, keys: localKeys({ key: TEST_SECRET }) })
  await open()
  await storage.delete('catalog', { filter: { kind: 'compare', column: 'entry', operator: '=', value: entry } })
  await expect(open()).rejects.toMatchObject({
    code: 'data_loss',
    message: `Cannot open the vault: ${problem}. Restore it from a backup.`,
  })
})

it('throws data_loss if the schema fails authentication', async () => {
  const storage = memoryStorage()
  const schema = defineSchema({ things: { name: column.string() } })
  const open = () => createVault({ id: 'v', schema, storage, keys: localKeys({ key: TEST_SECRET }) })
  await open()
  const [row] = await storage.find('catalog', SCHEMA_ENTRY, { order: 'asc', limit: 1 })
  await storage.update('catalog', [{ id: row?.id ?? 0, version: row?.version ?? 0, set: { content: new Uint8Array(60) } }])
  await expect(open()).rejects.toMatchObject({ code: 'data_loss', message: expect.stringContaining('failed authentication') })
})

describe('a stored format that is newer than this release', () => {
  const schema = defineSchema({ things: { name: column.string() } })
  const open = (storage: StorageHandle) => createVault({ id: 'v', schema, storage, keys: localKeys({ key: TEST_SECRET }) })
  /** Stores the state as a later release would, with members that this one does not know. */
  async function plant(storage: StorageHandle, format: number): Promise<void> {
    const ports = { ...SYSTEM_PORTS, storage, keys: localKeys({ key: TEST_SECRET }) }
    const { barrier, state } = await openCatalog(ports, 'v', schema.tables)
    const [row] = await storage.find('catalog', SCHEMA_ENTRY, { order: 'asc', limit: 1 })
    const { id = 0, version = 0 } = row ?? {}
    const { generation } = state
    const later = {
      ...state,
      generation: generation + 1,
      format: { number: format, release: '7.1.0' },
      later: { kept: [1, 'two'] },
    }
    await storage.transaction(async (inner) => {
      await inner.update('catalog', [{ id, version, set: { content: sealState(barrier, id, later) } }])
      await raiseHeads(inner, barrier, later)
    })
  }

  it('is read and not written, and the error names the release to install', async () => {
    const storage = memoryStorage()
    const before = (await open(storage)).as(OWNER)
    const { id } = await before.insertOne('things', { name: 'one' })
    await plant(storage, STORED_FORMAT.number + 1)
    const after = (await open(storage)).as(OWNER)
    expect((await after.getOne('things', id, { redaction: 'PLAIN_TEXT' })).fields.name).toBe('one')
    const refused = { code: 'failed_precondition', message: expect.stringContaining('Install strongroom 7.1.0 or newer') }
    for (const session of [after, before]) {
      await expect(session.insertOne('things', { name: 'two' })).rejects.toMatchObject(refused)
      await expect(session.updateOne('things', id, { name: 'two' })).rejects.toMatchObject(refused)
      await expect(session.deleteOne('things', id)).rejects.toMatchObject(refused)
    }
  })

  it('keeps members that this release does not know, as the same format does', async () => {
    const storage = memoryStorage()
    await open(storage)
    await plant(storage, STORED_FORMAT.number)
    const wider = defineSchema({ ...schema.tables, more: { a: column.string() } })
    await createVault({ id: 'v', schema: wider, storage, keys: localKeys({ key: TEST_SECRET }) })
    const { state } = await openCatalog({ ...SYSTEM_PORTS, storage, keys: localKeys({ key: TEST_SECRET }) }, 'v', wider.tables)
    expect(state).toMatchObject({ later: { kept: [1, 'two'] }, schema: { tables: { more: expect.anything() } } })
  })
})

it('a vault with another fingerprint than the pinned one is refused, and nothing is written', async () => {
  const schema = defineSchema({ things: { name: column.string() } })
  const [own, other] = [memoryStorage(), memoryStorage()]
  const keys = localKeys({ key: TEST_SECRET })
  await createVault({ id: 'v', schema, storage: own, keys })
  await createVault({ id: 'v', schema, storage: other, keys })
  const { state } = await openCatalog({ ...SYSTEM_PORTS, storage: own, keys }, 'v', schema.tables)
  const keyFingerprint = fingerprintOf(SYSTEM_PORTS.hash, state)
  await createVault({ id: 'v', schema, storage: own, keys, keyFingerprint })
  await expect(createVault({ id: 'v', schema, storage: other, keys, keyFingerprint })).rejects.toMatchObject({
    code: 'failed_precondition',
    message: expect.stringContaining('another fingerprint'),
  })
  await expect(createVault({ id: 'v', schema, storage: own, keys, keyFingerprint: 'AB' })).rejects.toMatchObject({
    code: 'invalid_request',
  })
})
