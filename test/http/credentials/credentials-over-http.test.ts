/** Requests with API keys and bearers of service accounts: who they are in events, and that every refusal is the same. */
import { expect, it } from 'vitest'
import { exchangeAssertion } from '../../../src/http/credentials/exchange-assertion.ts'
import { createServiceAccount } from '../../../src/http/credentials/service-accounts.ts'
import { apiKeys, createApiKey, createHandler, serviceAccounts } from '../../../src/http/index.ts'
import type { Vault } from '../../../src/index.ts'
import { type Clients, eventsBy } from '../../support/audit/audited-clients.ts'
import { assertionClaims, signClaims } from '../../support/http/client-jwts.ts'
import { onMemoryAndSqlite, openVaultAt, TOKEN_URI, testClock } from '../../support/http/credential-vaults.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const REQUEST_ID = '0f8fad5b-d9cb-469f-a165-70867728950e'
const READER = { name: 'nightly', roles: ['reader'] } as const

onMemoryAndSqlite('requests over HTTP', (engine) => {
  const serve = async () => {
    const clock = testClock()
    const vault = await openVaultAt(engine, clock)
    const other = await openVaultAt(engine, clock, 'v2')
    const handler = createHandler({ vaults: [vault, other], authenticate: [apiKeys(), serviceAccounts()] })
    const ask = (credential: string, vaultID = 'v1'): Promise<Response> => {
      const headers = { authorization: `Bearer ${credential}`, 'x-request-id': REQUEST_ID }
      return handler(new Request(`http://vault.example/v1/vaults/${vaultID}/clients`, { headers }))
    }
    return { clock, vault, other, ask }
  }
  const bearerOf = async (vault: Vault<Clients>, clock: ReturnType<typeof testClock>) => {
    const key = await createServiceAccount(vault.as(OWNER), { ...READER, tokenURI: TOKEN_URI })
    const assertion = await signClaims(key, { ...assertionClaims(key, clock.ms / 1000), ctx: 'c-7' })
    const body = { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion }
    const { accessToken } = await exchangeAssertion({ vaultOf: () => vault, tokenURI: TOKEN_URI, clock }, body)
    return { key, accessToken }
  }

  it('with an API key are recorded with its key id', async () => {
    const { vault, ask } = await serve()
    const { keyId, apiKey } = await createApiKey(vault.as(OWNER), READER)
    const { answer, events } = await eventsBy(vault, () => ask(apiKey))
    expect(answer).toMatchObject({ status: 200 })
    expect(events).toMatchObject([
      { action: 'GET', code: 200, context: { actor: keyId, actorType: 'SERVICE_ACCOUNT', authMode: 'API_KEY', keyID: keyId } },
    ])
  })

  it('with a bearer of a service account are recorded with its client, key, id and context', async () => {
    const { clock, vault, ask } = await serve()
    const { key, accessToken } = await bearerOf(vault, clock)
    const { answer, events } = await eventsBy(vault, () => ask(accessToken))
    expect(answer).toMatchObject({ status: 200 })
    const { key: keyId, jti: jwtID } = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString())
    const context = { actor: key.clientID, authMode: 'SERVICE_ACCOUNT_JWT', keyID: keyId, jwtID, bearerTokenContextID: 'c-7' }
    expect(events).toMatchObject([{ action: 'GET', code: 200, context: { ...context, subject: key.clientID } }])
  })

  it('that are refused have the same bytes, and leave one event in the vault that they name', async () => {
    const { clock, vault, other, ask } = await serve()
    const { keyId, apiKey } = await createApiKey(vault.as(OWNER), READER)
    const { apiKey: ended } = await createApiKey(vault.as(OWNER), { ...READER, expiresAt: clock.ms + 1 })
    const { key, accessToken } = await bearerOf(vault, clock)
    await vault.as(OWNER).revokeCredential({ keyId })
    await vault.as(OWNER).revokeCredential({ keyId: key.keyID })
    clock.ms += 1
    const foreign = await createApiKey(other.as(OWNER), READER)
    const bodies = new Set<string>()
    for (const credential of [apiKey, ended, accessToken, foreign.apiKey, `${apiKey}x`, 'x', 'a.b.c']) {
      const { answer, events } = await eventsBy(vault, async () => {
        const response = await ask(credential)
        return `${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`
      })
      bodies.add(String(answer))
      expect(events).toMatchObject([{ action: 'REQUEST', code: 401, context: { actor: 'unknown', requestID: REQUEST_ID } }])
      expect(JSON.stringify(events)).not.toContain(credential.length > 10 ? credential : 'Bearer x')
      bodies.add(
        await ask(credential, 'v9').then(
          async (response) => `${response.status} ${JSON.stringify([...response.headers])} ${await response.text()}`,
        ),
      )
    }
    expect([...bodies]).toHaveLength(1)
    expect([...bodies][0]).toMatch(/^401 /)
  })
})
