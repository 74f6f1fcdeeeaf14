/** Keys of subjects in a storage of their own: a backup of the data opens nothing of who was forgotten since, and the two storages never disagree to the harm of a record. */
import { copyFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { unusedKeysPass } from '../../../src/core/records/unused-keys.ts'
import { SUBJECT_KEYS } from '../../../src/core/schema/system-tables.ts'
import { createKeyedStorage } from '../../../src/core/subject-keys/keyed-storage.ts'
import { backupVault, restoreVault } from '../../../src/transfer/index.ts'
import { onEachStorage, sqliteEngine } from '../../support/storages/engines.ts'
import { openStorage } from '../../support/storages/open-storage.ts'
import { fillCustomers, forgetRows, keysIn, openCustomers, PHYSICAL, scanOf } from '../../support/subjects/own-keys-vault.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const ALL = { kind: 'all' } as const
const keyRows = (storage: StorageHandle) => storage.find(SUBJECT_KEYS.name, ALL, { order: 'asc', limit: 100 })

/** Forgets the customers in these rows as the vault does: in one transaction of its storage. */
async function forget(data: StorageHandle, home: StorageHandle, rows: readonly number[]): Promise<void> {
  const { storage, begin } = createKeyedStorage(data, home)
  begin({ barrier: { subjectKeys: { destroy() {} } } as never, hasKeys: () => false, reload: async () => {}, nowMs: Date.now })
  await storage.prepare([SUBJECT_KEYS])
  await storage.transaction((inner) => forgetRows(inner, rows))
}

onEachStorage('keys of subjects in a storage of their own', (engine) => {
  it('are not in the data: a restored backup of yesterday opens nothing of a person who was forgotten today', async () => {
    const [data, home] = [engine.fresh().open(), engine.fresh().open()]
    const vault = await openCustomers(data, { subjectKeys: home })
    const { session, ann, bob, pins } = await fillCustomers(vault)
    expect((await session.get('customers', {})).records).toHaveLength(3)
    expect(await keyRows(home)).toHaveLength(4)
    const yesterday = backupVault({ from: data })
    const restored = memoryStorage()
    await restoreVault({ backups: [yesterday], to: restored })
    expect(await keyRows(restored)).toEqual([])
    await vault.subjects.forget(OWNER, 'customer', ann, { reason: 'asked' })
    expect((await keyRows(home)).map(({ row_id }) => row_id)).toEqual([0, 2, 3])
    // The keys of today, and the data of yesterday: all others are there.
    const again = await openCustomers(restored, { subjectKeys: home })
    const reader = again.as(OWNER)
    expect((await reader.get('customers', {})).records.map(({ fields }) => fields.name)).toEqual(['bob', 'eve'])
    await expect(reader.getOne('customers', ann)).rejects.toMatchObject({ code: 'not_found' })
    expect((await reader.get('orders', {})).records.map(({ fields }) => fields.memo)).toEqual(['of no one'])
    await expect(scanOf(reader, 'customers', ann)).rejects.toMatchObject({ code: 'not_found' })
    await expect(reader.detokenize(pins.slice(0, 1).map((token) => ({ token })))).rejects.toMatchObject({ code: 'not_found' })
    expect(await again.verifyRecords()).toMatchObject({ ok: true, forgottenCount: 3 })
    expect((await reader.getOne('customers', bob)).fields.name).toBe('bob')
    // A rotation reaches both storages.
    await again.rotateKeys()
    expect(await again.destroyKey(2)).toEqual({ version: 2, lost: 0 })
    expect((await (await openCustomers(restored, { subjectKeys: home })).as(OWNER).get('customers', {})).records).toHaveLength(2)
  })

  it('a person who was forgotten is forgotten again after a restore, with the rows that no longer open, and no other person', async () => {
    const [data, home, restored] = [engine.fresh().open(), engine.fresh().open(), engine.fresh().open()]
    const vault = await openCustomers(data, { subjectKeys: home })
    const { session, ann } = await fillCustomers(vault)
    await session.insertOne('notes', { email: 'bob@acme.example', memo: 'note' })
    await restoreVault({ backups: [backupVault({ from: data })], to: restored })
    await vault.subjects.forget(OWNER, 'customer', ann, { reason: 'asked' })
    const again = await openCustomers(restored, { subjectKeys: home })
    const rows = async (table: string) => (await restored.find(table, ALL, { order: 'asc', limit: 100 })).length
    const counts = () => Promise.all([...Object.values(PHYSICAL), 'files'].map(rows))
    expect(await counts()).toEqual([3, 2, 1, 2, 2])
    for await (const { kind, id, receipt } of vault.subjects.forgotten()) {
      const { tables, files } = await again.subjects.forget(OWNER, kind, id, { reason: receipt.reason })
      expect({ tables, files }).toEqual({ tables: { customers: 1, orders: 1, items: 1, notes: 1 }, files: 2 })
    }
    expect(await counts()).toEqual([2, 1, 0, 1, 0])
    expect(await again.verifyRecords()).toMatchObject({ ok: true, forgottenCount: 0 })
    await again.as(OWNER).insertOne('customers', { email: 'ann@acme.example', name: 'another' })
    const { records } = await again.as(OWNER).get('customers', {})
    expect(records.map(({ fields }) => fields.name)).toEqual(['bob', 'eve', 'another'])
  })

  it('must be where they were', async () => {
    const [data, home, other] = [engine.fresh().open(), engine.fresh().open(), engine.fresh().open()]
    await fillCustomers(await openCustomers(data, { subjectKeys: home }))
    const elsewhere = {
      code: 'failed_precondition',
      message: expect.stringMatching(/in another storage. Pass that one as option subjectKeys/),
    }
    await expect(openCustomers(data)).rejects.toMatchObject(elsewhere)
    await expect(openCustomers(data, { subjectKeys: other })).rejects.toMatchObject(elsewhere)
    await expect(openCustomers(other, { subjectKeys: other })).rejects.toMatchObject({ code: 'invalid_request' })
    expect((await (await openCustomers(data, { subjectKeys: home })).as(OWNER).get('customers', {})).records).toHaveLength(3)
  })

  it('are swept when their record was never stored, or is gone, and stay where a transaction was rolled back', async () => {
    const [data, home] = [engine.fresh().open(), engine.fresh().open()]
    const vault = await openCustomers(data, { subjectKeys: home })
    const { session } = await fillCustomers(vault)
    const taken = session.insertOne('customers', { email: 'bob@acme.example', name: 'another' })
    await expect(taken).rejects.toMatchObject({ code: 'conflict' })
    expect((await keyRows(home)).length).toBeGreaterThan(4)
    const { storage, begin } = createKeyedStorage(data, home)
    begin({ barrier: { subjectKeys: { destroy() {} } } as never, hasKeys: () => false, reload: async () => {}, nowMs: Date.now })
    const failed = storage.transaction(async (inner) => {
      await forgetRows(inner, [1])
      throw new Error('rolled back')
    })
    await expect(failed).rejects.toThrow('rolled back')
    const layout = { tables: new Map([['customers', { objectId: 1, physical: { name: PHYSICAL.customers } }]]) } as never
    const pass = unusedKeysPass(storage, { layout, nowMs: Date.now() + 2 * 60 * 60_000 })
    while (!(await pass.slice()).isLast);
    const left = await keyRows(home)
    expect(left.map(({ row_id, check_at }) => [row_id, check_at])).toEqual([0, 1, 2, 3].map((row) => [row, null]))
    expect(new Set(await keysIn(data, PHYSICAL.customers))).toEqual(new Set(left.slice(1).map(({ id }) => id)))
  })
})

const sqlite = sqliteEngine()

it('a copied file of the data, with the keys of today, opens nothing of a person who was forgotten after the copy', async () => {
  const [place, home, copy] = [sqlite.fresh(), sqlite.fresh(), sqlite.fresh()]
  const vault = await openCustomers(openStorage(place.address()), { subjectKeys: openStorage(home.address()) })
  const { ann, bob } = await fillCustomers(vault)
  await vault.close()
  copyFileSync(place.address().filename, copy.address().filename)
  await forget(place.open(), home.open(), [1])
  const reader = (await openCustomers(copy.open(), { subjectKeys: home.open() })).as(OWNER)
  await expect(reader.getOne('customers', ann)).rejects.toMatchObject({ code: 'not_found' })
  expect((await reader.getOne('customers', bob)).fields.name).toBe('bob')
})
