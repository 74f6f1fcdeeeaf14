/** A session in process and one over a real socket: the same calls return the same, and fail alike in code, statuses, details and words. */
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import { connectVault } from '../../src/client/index.ts'
import { createVault } from '../../src/index.ts'
import { CALLED_POLICY, calledSchema, runCalls } from '../support/client/session-calls.ts'
import { CLERK_CREDENTIAL, OWNER_CREDENTIAL } from '../support/http/ask.ts'
import { serveVault } from '../support/http/serve-vault.ts'
import { ENGINES } from '../support/storages/engines.ts'
import { CLERK, OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'

describe.each(['memory', 'sqlite'] as const)('on %s', (name) => {
  const engine = ENGINES[name]()
  const open = () =>
    createVault({
      id: 'v1',
      schema: calledSchema,
      policy: CALLED_POLICY,
      storage: engine.fresh().open(),
      keys: localKeys({ key: TEST_SECRET }),
    })

  it('the client is the session', async () => {
    const [near, far] = [await open(), await open()]
    const served = await serveVault({ vault: far as never })
    const connect = (credentials: string) =>
      connectVault<typeof calledSchema>({ url: `http://127.0.0.1:${served.port}`, vaultId: 'v1', credentials })
    const local = await runCalls(near.as(OWNER), near.as(CLERK))
    const remote = await runCalls(connect(OWNER_CREDENTIAL), connect(CLERK_CREDENTIAL))
    await served.close()
    await near.close()
    expect(local.length).toBeGreaterThan(85)
    for (const [index, ended] of local.entries()) expect.soft(remote[index]).toEqual(ended)
    // What each call did is in the trail as well, so the two cannot be equal in failing all.
    const failed = local.filter(([, result]) => typeof result === 'object' && result !== null && 'code' in result)
    expect(failed.length).toBeLessThan(local.length / 2)
  })
})
