/** A query over HTTP returns 25 records, unless the host raises both its limits. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { createVault, type Vault } from '../../../src/index.ts'
import { serveVault } from '../../support/http/serve-vault.ts'
import { OWNER, people, TEST_SECRET } from '../../support/vaults/test-vault.ts'

it.each([
  [{}, {}, 25],
  [{ maxQueryRecords: 30 }, {}, 25],
  [{}, { maxQueryRecords: 30 }, 25],
  [{ maxQueryRecords: 30 }, { maxQueryRecords: 28 }, 28],
])('with %o of the vault and %o of the handler it returns %i of 40', async (limits, handlerLimits, expected) => {
  const vault = await createVault({
    id: 'v1',
    schema: people,
    storage: memoryStorage(),
    keys: localKeys({ key: TEST_SECRET }),
    limits,
  })
  await vault.as(OWNER).insert(
    'orders',
    Array.from({ length: 40 }, (_, at) => ({ fields: { total: at } })),
  )
  // The routes read the schema of the vault at run time.
  const served = await serveVault({ vault: vault as unknown as Vault, handler: { limits: handlerLimits } })
  const { json } = await served.ask('POST', '/v1/vaults/v1/query', { body: { query: 'SELECT total FROM orders' } })
  expect(json.records).toHaveLength(expected)
  await served.close()
})
