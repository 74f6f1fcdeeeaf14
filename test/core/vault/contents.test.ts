/** What a vault holds is counted: records by table, files and the states of their scans, audit events. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { column, createVault, defineSchema } from '../../../src/index.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

it('counts records, and files that are due or failed to be scanned', async () => {
  const schema = defineSchema({ people: { name: column.string(), photo: column.file() }, notes: { text: column.string() } })
  const scanner = {
    scan: async (content: AsyncIterable<Uint8Array>) => {
      for await (const _ of content) throw new Error('away')
      return { result: 'clean' } as const
    },
  }
  const storage = memoryStorage()
  const keys = localKeys({ key: TEST_SECRET })
  const unscanned = await createVault({ id: 'v1', schema, storage, keys })
  await unscanned.as(OWNER).insert('notes', [{ fields: {} }, { fields: {} }])
  await unscanned.as(OWNER).uploadFile({ table: 'people', column: 'photo', file: new Uint8Array(9), fileName: 'a.bin' })
  const before = await unscanned.contents()
  expect(before).toMatchObject({ records: { people: 1, notes: 2 }, transients: 0 })
  expect(before.files).toEqual({ stored: 1, due: 1, scanning: 0, failed: 0 })
  expect(before.audit).toEqual({ events: 2, chains: 1 })

  const scanned = await createVault({ id: 'v1', schema, storage, keys, scanner: scanner as never })
  await scanned.scanFiles()
  expect((await scanned.contents()).files).toEqual({ stored: 1, due: 0, scanning: 0, failed: 1 })
})
