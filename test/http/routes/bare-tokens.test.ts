/** Signed tokens of a request are verified a few at a time, so that other requests have their turn. */
import { expect, it } from 'vitest'
import { signDataTokens } from '../../../src/http/credentials/data-tokens.ts'
import { createServiceAccount } from '../../../src/http/credentials/service-accounts.ts'
import { bareTokens } from '../../../src/http/routes/token-routes.ts'
import type { Vault } from '../../../src/index.ts'
import { openClients } from '../../support/audit/audited-clients.ts'
import { TOKEN_URI } from '../../support/http/credential-vaults.ts'
import { memoryEngine } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

it('verifies at most 20 signatures in one turn of the event loop, and keeps the order of the tokens', async () => {
  // Credentials do not depend on the schema.
  const vault = (await openClients(memoryEngine().fresh().open())) as unknown as Vault
  const key = await createServiceAccount(vault.as(OWNER), { name: 'site', roles: ['reader'], tokenURI: TOKEN_URI })
  const tokens = Array.from({ length: 100 }, (_, index) => `token ${index}`)
  const signed = (await signDataTokens(key, tokens)).map(({ signedToken }) => signedToken)
  const foundInTurns: number[] = [0]
  const credentials: Vault['credentials'] = {
    ...vault.credentials,
    find(keyID) {
      foundInTurns[foundInTurns.length - 1] = (foundInTurns.at(-1) ?? 0) + 1
      return vault.credentials.find(keyID)
    },
  }
  let isRunning = true
  const turn = (): void => {
    foundInTurns.push(0)
    if (isRunning) setImmediate(turn)
  }
  setImmediate(turn)
  const mixed = [...signed, 'a bare one', `${signed[0]}A`]
  const bare = await bareTokens({ vault: { ...vault, credentials }, caller: OWNER }, mixed)
  isRunning = false
  expect(bare).toEqual([...tokens, 'a bare one', ''])
  expect(Math.max(...foundInTurns)).toBeLessThanOrEqual(20)
  await vault.close()
})

it('refuses over 1,000 signed tokens before it verifies one', async () => {
  const access = { vault: {} as Vault, caller: OWNER }
  await expect(bareTokens(access, Array(1001).fill('signed_token_x'))).rejects.toMatchObject({ code: 'limit_exceeded' })
})
