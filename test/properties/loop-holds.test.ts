/** The law of holds of the event loop, and its negative control. */
import { expect, it } from 'vitest'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { openVault } from '../../src/core/vault/open-vault.ts'
import { createVault } from '../../src/index.ts'
import { checkHold, compactsIndexes, loopHolds, schema } from '../laws/loop-holds.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { SYSTEM_PORTS } from '../support/vaults/system-ports.ts'
import { TEST_SECRET } from '../support/vaults/test-vault.ts'

itHolds(loopHolds)

it('detects a call that does all of its work at once', async () => {
  const vault = await createVault({ id: 'v1', schema, storage: memoryStorage(), keys: localKeys({ key: TEST_SECRET }) })
  const busy = () => async () => {
    const { user } = process.cpuUsage()
    while (process.cpuUsage().user - user < 400_000) for (let n = 0; n < 100_000; n++) Math.sqrt(n)
  }
  await expect(checkHold(vault, busy)).rejects.toThrow('held the event loop for')
  await vault.close()
})

it('detects a merge that takes no turns', async () => {
  const scheduler = { yield: async () => {} }
  const vault = await openVault({
    ...SYSTEM_PORTS,
    id: 'v1',
    schema,
    storage: memoryStorage(),
    keys: localKeys({ key: TEST_SECRET }),
    scheduler,
  })
  await expect(checkHold(vault, compactsIndexes)).rejects.toThrow('held the event loop for')
  await vault.close()
})
