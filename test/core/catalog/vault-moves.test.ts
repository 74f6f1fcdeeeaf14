/** A storage that a vault was moved out of takes no more writes, of any process that has it open. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { closeSource, DEPARTED, reopenSource, writePlainEntry } from '../../../src/core/catalog/vault-moves.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { CATALOG } from '../../../src/core/schema/system-tables.ts'
import { column, createVault, defineSchema, isVaultError } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const schema = defineSchema({ people: { name: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }) } })

function open(storage: StorageHandle, audit: 'on' | 'off') {
  return createVault({ id: 'v1', schema, storage, audit, keys: localKeys({ key: TEST_SECRET }) })
}

const tablesOf = (storage: StorageHandle) => storage.snapshot(async ({ tables }) => tables)
const countRows = (storage: StorageHandle) =>
  storage.snapshot(async ({ tables, find }) => {
    const all = tables.map(async ({ name }) => (await find(name, { kind: 'all' }, { order: 'asc', limit: 100_000 })).length)
    return (await Promise.all(all)).reduce((sum, count) => sum + count, 0)
  })

async function close(storage: StorageHandle): Promise<void> {
  const tables = (await tablesOf(storage)).map((table) => ({ ...table, indexes: [] }))
  await storage.prepare(tables)
  await closeSource(
    storage,
    tables.map(({ name }) => name),
    'a move',
  )
}

for (const audit of ['on', 'off'] as const) {
  onEachStorage(`a storage that was closed, audit ${audit},`, (engine) => {
    it('refuses each write of every process, and a new opening', async () => {
      const place = engine.fresh()
      const vaults = [await open(place.open(), audit), await open(place.open(), audit)]
      const sessions = vaults.map((vault) => vault.as(OWNER))
      const ids: string[] = []
      for (const session of sessions) ids.push((await session.insert('people', [{ fields: { name: 'A' } }])).records[0]?.id ?? '')
      await close(place.open())
      const before = await countRows(place.open())
      const refused = expect.objectContaining({
        code: 'failed_precondition',
        message: expect.stringContaining('was moved out of this storage'),
      })
      for (const [index, session] of sessions.entries()) {
        await expect(session.insert('people', [{ fields: { name: 'B' } }])).rejects.toEqual(refused)
        await expect(session.updateOne('people', ids[index] ?? '', { name: 'C' })).rejects.toEqual(refused)
        await expect(session.delete('people', [ids[index] ?? ''])).rejects.toEqual(refused)
        await expect(
          vaults[index]?.transaction(async (tx) => tx.as(OWNER).insert('people', [{ fields: { name: 'D' } }])),
        ).rejects.toEqual(refused)
        await expect(vaults[index]?.rotateKeys()).rejects.toEqual(refused)
      }
      await expect(open(place.open(), audit)).rejects.toEqual(refused)
      expect(await countRows(place.open())).toBe(before)
    })

    it('would take writes if its chains and its schema were not marked', async () => {
      const place = engine.fresh()
      const session = (await open(place.open(), audit)).as(OWNER)
      await session.insert('people', [{ fields: { name: 'A' } }])
      const storage = place.open()
      await storage.prepare([CATALOG])
      await writePlainEntry(storage, DEPARTED, 'a move')
      await expect(session.insert('people', [{ fields: { name: 'B' } }])).resolves.toBeDefined()
    })

    it('has all that was confirmed to writers, and can be opened again', async () => {
      const place = engine.fresh()
      const vaults = await Promise.all([1, 2, 3].map(() => open(place.open(), audit)))
      const stored: string[] = []
      const codes = new Set<string>()
      const writers = vaults.map(async (vault, writer) => {
        const session = vault.as(OWNER)
        for (let n = 0; n < 10_000; n++) {
          try {
            const { records } = await session.insert('people', [{ fields: { name: `${writer} ${n}` } }])
            stored.push(...records.map(({ id }) => id))
          } catch (error) {
            codes.add(isVaultError(error) ? error.code : String(error))
            return
          }
        }
      })
      while (stored.length < 60) await new Promise((resolve) => setTimeout(resolve, 5))
      const storage = place.open()
      await close(storage)
      const before = await countRows(storage)
      await Promise.all(writers)
      expect([...codes]).toEqual(['failed_precondition'])
      expect(await countRows(storage)).toBe(before)
      await reopenSource(storage)
      const again = await open(place.open(), audit)
      const { records } = await again.as(OWNER).get('people', { ids: stored })
      expect(records).toHaveLength(stored.length)
      expect(await again.verifyAudit()).toMatchObject({ ok: true })
      await again.as(OWNER).insert('people', [{ fields: { name: 'Z' } }])
      await expect(reopenSource(storage)).rejects.toMatchObject({ code: 'failed_precondition' })
    })
  })
}
