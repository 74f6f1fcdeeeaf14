/** Tests that a damaged catalog is reported as data loss. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { column, createVault, defineSchema } from '../../../src/index.ts'
import { TEST_SECRET } from '../../support/vaults/test-vault.ts'

it.each([
  ['vault', 'the catalog has no vault id'],
  ['root/1', 'root key 1 is missing from the catalog'],
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
  const filter = { kind: 'compare', column: 'entry', operator: '=', value: 'schema' } as const
  const [row] = await storage.find('catalog', filter, { order: 'asc', limit: 1 })
  await storage.update('catalog', [{ id: row?.id ?? 0, version: row?.version ?? 0, set: { content: new Uint8Array(60) } }])
  await expect(open()).rejects.toMatchObject({ code: 'data_loss', message: expect.stringContaining('failed authentication') })
})
