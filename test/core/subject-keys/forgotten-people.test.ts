/** A person whose key is destroyed: nothing of them opens, in no process, and reads go on as if their records were not there. */

import { expect, it } from 'vitest'
import { keyRingFactory, platformKeyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { openSealed } from '../../../src/core/barrier/reveal.ts'
import { openCatalog } from '../../../src/core/catalog/open-catalog.ts'
import type { KeyRingFactory, SubjectKeys } from '../../../src/core/ports/crypto.ts'
import type { Row, StorageHandle } from '../../../src/core/ports/storage.ts'
import { TRUST_MS } from '../../../src/core/sealing/subject-keyring.ts'
import { createKeyedStorage } from '../../../src/core/subject-keys/keyed-storage.ts'
import { openVault } from '../../../src/core/vault/open-vault.ts'
import { column, defineSchema } from '../../../src/index.ts'
import { INDEXES_ONLY } from '../../support/queries/read-costs.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import {
  customerSchema,
  fillCustomers,
  forgetRows,
  keysIn,
  openCustomers,
  PHYSICAL,
  scanOf,
} from '../../support/subjects/own-keys-vault.ts'
import { SYSTEM_PORTS } from '../../support/vaults/system-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const keys = localKeys({ key: TEST_SECRET })

/** A storage as a process has it that opened the vault, with what its bodies are opened with. */
async function openKeyed(raw: StorageHandle, factory: KeyRingFactory = keyRingFactory) {
  const { storage, begin } = createKeyedStorage(raw, undefined)
  const ports = { ...SYSTEM_PORTS, keyRingFactory: factory, storage, keys }
  const catalog = await openCatalog(ports, 'v1', customerSchema().tables)
  begin({ barrier: catalog.barrier, reload: catalog.reload, hasKeys: () => true, nowMs: Date.now })
  const opens = (row: Row): boolean => openSealed(catalog.barrier, 1, [row]).opened[0] === 1
  return { storage, opens }
}

/** Keys that are not overwritten when they should be. */
const keeping: KeyRingFactory = {
  ...keyRingFactory,
  createSubjectKeys: (): SubjectKeys => ({ ...keyRingFactory.createSubjectKeys(), remove() {} }),
}

onEachStorage('a person who was forgotten', (engine) => {
  it('law 12: without the row of the key no key material of the process opens the body, in caches neither', async () => {
    const raw = engine.fresh().open()
    await fillCustomers(await openCustomers(raw))
    for (const [factory, isKept] of [
      [keyRingFactory, false],
      [platformKeyRingFactory, false],
      [keeping, true],
    ] as const) {
      const { storage, opens } = await openKeyed(raw, factory)
      const [ann, bob] = (await storage.get(PHYSICAL.customers, [1, 2])) as [Row, Row]
      const [kept] = await raw.find(
        'subject_keys',
        { kind: 'compare', column: 'row_id', operator: '=', value: 1 },
        { order: 'asc', limit: 1 },
      )
      expect([opens(ann), opens(bob)]).toEqual([true, true])
      // Rolled back, it opens on.
      const failed = storage.transaction(async (inner) => {
        expect(await forgetRows(inner, [1])).toBe(1)
        throw new Error('rolled back')
      })
      await expect(failed).rejects.toThrow('rolled back')
      expect([opens(ann), (await storage.get(PHYSICAL.customers, [1]))[0]?.id]).toEqual([true, 1])
      await storage.transaction((inner) => forgetRows(inner, [1]))
      // A row that was read before, and one that is read now.
      expect([opens(ann), opens(bob)]).toEqual([isKept, true])
      if (!isKept) expect(await storage.get(PHYSICAL.customers, [1, 2])).toMatchObject([undefined, { id: 2 }])
      const { id = 0, version: _, ...row } = kept ?? {}
      await raw.insert('subject_keys', [{ ...row, id }])
    }
  })

  it('is as one who never was to every read, in processes that had read them too', async () => {
    const place = engine.fresh()
    const raw = place.open()
    const { ann, bob, order, pins } = await fillCustomers(await openCustomers(raw))
    const now = { ms: 0 }
    const ports = { ...SYSTEM_PORTS, stopwatch: { now: () => now.ms } }
    const vault = await openVault({ ...ports, id: 'v1', schema: customerSchema(), storage: place.open(), keys })
    const session = vault.as(OWNER)
    const namesNow = async () => (await session.get('customers', {})).records.map(({ fields }) => fields.name)
    expect(await namesNow()).toEqual(['ann', 'bob', 'eve'])
    // As another process destroys the key and leaves the records, or as a backup brings them back.
    await forgetRows(raw, [1])
    now.ms += TRUST_MS + 1
    expect(await namesNow()).toEqual(['bob', 'eve'])
    await expect(session.getOne('customers', ann)).rejects.toMatchObject({ code: 'not_found' })
    await expect(session.getOne('orders', order)).rejects.toMatchObject({ code: 'not_found' })
    expect((await session.get('customers', { limit: 2 })).records.map(({ id }) => id)[0]).toBe(bob)
    const queried = await session.query(`SELECT name FROM customers WHERE name LIKE '%n%' OR name LIKE '%b%'`)
    expect(queried.records.map(({ fields }) => fields)).toEqual([{ name: 'bob' }])
    const shown = await session.detokenize(
      pins.map((token) => ({ token })),
      { continueOnError: true },
    )
    expect(shown.records.map(({ value }) => value)).toEqual(['', 'pin of bob', 'pin of eve'])
    await expect(session.updateOne('customers', ann, { name: 'x' })).rejects.toMatchObject({ code: 'not_found' })
    await expect(scanOf(session, 'customers', ann)).rejects.toMatchObject({ code: 'not_found' })
    const found = await vault.verifyRecords()
    expect(found).toMatchObject({ ok: true, findingCount: 0, forgottenCount: 3 })
    expect(await keysIn(raw, PHYSICAL.customers)).toHaveLength(3)
  })
})

it('is in no aggregate that a sealed index has, where the index still has the keys of their records', async () => {
  const raw = memoryStorage()
  const age = column.integer({ redaction: 'PLAIN_TEXT', index: 'sealed' })
  const schema = defineSchema({ people: { age } }, { subjects: { person: { table: 'people', ownKeys: true } } })
  const ports = { ...SYSTEM_PORTS, id: 'v1', schema, keys, readCosts: INDEXES_ONLY }
  const vault = await openVault({ ...ports, storage: raw })
  await vault.as(OWNER).insert('people', [{ fields: { age: 50 } }, { fields: { age: 20 } }])
  await forgetRows(raw, [1])
  const later = await openVault({ ...ports, storage: raw })
  const { records } = await later.as(OWNER).query('SELECT COUNT(age), MAX(age), SUM(age) FROM people WHERE age > 0')
  expect(records.map(({ fields }) => fields)).toEqual([{ 'count(age)': 1, 'max(age)': 20, 'sum(age)': 20 }])
  await vault.close()
})
