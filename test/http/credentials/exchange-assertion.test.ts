/** The token exchange: assertions as existing clients sign them, what is refused, and the bearers that come of it. */
import { createPublicKey } from 'node:crypto'
import { expect, it } from 'vitest'
import { exchangeAssertion } from '../../../src/http/credentials/exchange-assertion.ts'
import { createServiceAccount, serviceAccounts } from '../../../src/http/credentials/service-accounts.ts'
import type { Vault } from '../../../src/index.ts'
import { type Clients, eventsBy, eventsOf } from '../../support/audit/audited-clients.ts'
import { assertionClaims, forgedTexts, signClaims } from '../../support/http/client-jwts.ts'
import { ask, onMemoryAndSqlite, openVaultAt, TOKEN_URI, testClock } from '../../support/http/credential-vaults.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const ACCOUNT = { name: 'billing', roles: ['reader', 'writer'], tokenURI: TOKEN_URI } as const
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const REFUSAL = 'Token request failed. The assertion is not valid. Sign a new one with the key file.'

onMemoryAndSqlite('the token exchange', (engine) => {
  const setUp = async (more: object = {}) => {
    const clock = testClock()
    const vault = await openVaultAt(engine, clock)
    const key = await createServiceAccount(vault.as(OWNER), { ...ACCOUNT, ...more })
    const asked: string[] = []
    const vaultOf = (id: string): Vault<Clients> | undefined => {
      asked.push(id)
      return id === 'v1' ? vault : undefined
    }
    const exchange = (assertion: string, scope?: string) =>
      exchangeAssertion(
        { vaultOf, tokenURI: TOKEN_URI, clock },
        { grant_type: GRANT, assertion, ...(scope === undefined ? {} : { scope }) },
      )
    const seconds = () => clock.ms / 1000
    const assert = (claims: object = {}) => signClaims(key, { ...assertionClaims(key, seconds()), ...claims })
    return { clock, vault, key, asked, vaultOf, exchange, seconds, assert }
  }

  it('gives a bearer for a key file as existing clients read it', async () => {
    const { vault, key, asked, exchange, assert, seconds } = await setUp()
    expect(Object.keys(key)).toEqual([
      'clientID',
      'clientName',
      'keyID',
      'tokenURI',
      'keyValidAfterTime',
      'keyAlgorithm',
      'privateKey',
    ])
    expect(key).toMatchObject({ clientName: 'billing', tokenURI: TOKEN_URI, keyAlgorithm: 'KEY_ALG_RSA_2048' })
    const { accessToken, tokenType } = await exchange(await assert())
    expect(tokenType).toBe('Bearer')
    expect(asked).toEqual(['v1'])
    // Clients decode it to read when it expires.
    const payload = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString())
    expect(payload.exp).toBe(seconds() + 3600)
    expect(await ask(serviceAccounts(), accessToken, vault)).toEqual({
      caller: { actor: key.clientID, actorType: 'SERVICE_ACCOUNT', roles: ['reader', 'writer'] },
      credential: { authMode: 'SERVICE_ACCOUNT_JWT', jwtID: payload.jti, keyID: payload.key, subject: key.clientID },
    })
  })

  it('takes the context from the claim ctx, but not what its owner has set', async () => {
    const { vault, exchange, assert } = await setUp({ context: { country: 'SE' } })
    const { accessToken } = await exchange(await assert({ ctx: { country: 'DE', id: 'c-7', none: null } }))
    const answer = await ask(serviceAccounts(), accessToken, vault)
    expect(answer).toMatchObject({
      caller: { context: { country: 'SE', id: 'c-7' } },
      credential: { bearerTokenContextID: 'c-7' },
    })
    const text = await exchange(await assert({ ctx: 'c-8' }))
    expect(await ask(serviceAccounts(), text.accessToken, vault)).toMatchObject({ caller: { context: { id: 'c-8' } } })
    const [last] = (await eventsOf(vault)).filter(({ context }) => context.bearerTokenContextID === 'c-8')
    expect(last).toMatchObject({ action: 'ISSUE_BEARER', code: 200 })
  })

  it('narrows roles by the scope, to some of the service account', async () => {
    const { vault, exchange, assert } = await setUp()
    const { accessToken } = await exchange(await assert({ jti: '1' }), 'role:reader')
    expect(await ask(serviceAccounts(), accessToken, vault)).toMatchObject({ caller: { roles: ['reader'] } })
    const both = await exchange(await assert({ jti: '2' }), 'role:reader  role:writer role:reader')
    expect(await ask(serviceAccounts(), both.accessToken, vault)).toMatchObject({ caller: { roles: ['reader', 'writer'] } })
    const all = await exchange(await assert({ jti: '3' }), '')
    expect(await ask(serviceAccounts(), all.accessToken, vault)).toMatchObject({ caller: { roles: ['reader', 'writer'] } })
    for (const scope of ['role:VAULT_OWNER', 'role:reader role:unknown'])
      await expect(exchange(await assert(), scope)).rejects.toMatchObject({ code: 'forbidden', httpStatus: 401 })
    for (const scope of ['reader', 'role:', 'role:reader,role:writer x'])
      await expect(exchange(await assert(), scope)).rejects.toMatchObject({ code: 'invalid_request' })
    // A refused scope does not use an assertion up.
    await expect(exchange(await assert())).resolves.toMatchObject({ tokenType: 'Bearer' })
  })

  it('takes an assertion with a jti once, also when it comes several times at the same time', async () => {
    const { exchange, assert } = await setUp()
    const assertion = await assert({ jti: 'a' })
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => exchange(assertion)))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'unauthenticated', message: REFUSAL })
    // The same id in another assertion of this key has served; that of another key has not.
    await expect(assert({ jti: 'a', ctx: 'c-7' }).then(exchange)).rejects.toMatchObject({ message: REFUSAL })
    const other = await setUp()
    await expect(other.assert({ jti: 'a' }).then(other.exchange)).resolves.toMatchObject({ tokenType: 'Bearer' })
  })

  it('takes an assertion without a jti until it expires, and gives a bearer of its own each time', async () => {
    const { clock, vault, exchange, assert, seconds } = await setUp()
    const assertion = await assert({ exp: seconds() + 60 })
    const answers = await Promise.all(Array.from({ length: 50 }, () => exchange(assertion)))
    expect(new Set(answers.map(({ accessToken }) => accessToken)).size).toBe(50)
    clock.ms += 60_000
    await expect(exchange(assertion)).resolves.toMatchObject({ tokenType: 'Bearer' })
    clock.ms += 30_000
    await expect(exchange(assertion)).rejects.toMatchObject({ code: 'unauthenticated', message: REFUSAL })
    const issued = (await eventsOf(vault)).filter(({ action }) => action === 'ISSUE_BEARER')
    expect(issued.map(({ code }) => code)).toEqual(Array.from({ length: 51 }, () => 200))
  })

  it('refuses every assertion that is not valid with one text, and an event in the vault that it names', async () => {
    const { clock, vault, key, exchange, seconds, assert } = await setUp()
    const claims = assertionClaims(key, seconds())
    const publicKey = createPublicKey(key.privateKey).export({ type: 'spki', format: 'pem' }).toString()
    const refused = [
      ...(await forgedTexts(key, claims, publicKey)),
      await assert({ exp: seconds() - 31 }),
      await assert({ exp: seconds() + 3631 }),
      await assert({ exp: undefined }),
      await assert({ exp: 'soon' }),
      await assert({ nbf: seconds() + 31 }),
      await assert({ iat: seconds() + 31 }),
      await assert({ iat: 'now' }),
      await assert({ iss: 'another' }),
      await assert({ sub: 'another' }),
      await assert({ sub: undefined }),
      await assert({ aud: 'https://other.example/v1/auth/sa/oauth/token' }),
      await assert({ aud: undefined }),
      await assert({ ctx: ['c-7'] }),
      await assert({ ctx: { id: 2 ** 60 } }),
      await assert({ jti: '' }),
      await assert({ jti: 7 }),
      await assert({ jti: null }),
      await assert({ key: undefined }),
      await assert({ key: {} }),
      await assert({ key: key.keyID.split('.')[0] }),
      await assert({ key: `${key.keyID.split('.')[0]}.${Buffer.from('v2').toString('base64url')}` }),
      await assert({ key: key.keyID.replace(/^./, (digit) => (digit === '0' ? '1' : '0')) }),
    ]
    for (const assertion of refused.filter((text) => text !== ''))
      await expect(exchange(assertion)).rejects.toMatchObject({ code: 'unauthenticated', message: REFUSAL, details: [] })
    const forged = await eventsBy(vault, () => assert({ iss: 'another' }).then(exchange))
    expect(forged.events).toMatchObject([{ action: 'REQUEST', code: 401, message: REFUSAL, context: { actor: 'unknown' } }])
    const unknown = await eventsBy(vault, () => assert({ key: undefined }).then(exchange))
    expect(unknown.events).toEqual([])
    clock.ms += 3600_000
    await expect(assert({ exp: seconds() - 30 }).then(exchange)).rejects.toMatchObject({ code: 'unauthenticated' })
    for (const within of [{ exp: seconds() - 29 }, { nbf: seconds() + 30 }, { iat: seconds() + 30 }, { exp: seconds() + 3630 }])
      await expect(assert(within).then(exchange)).resolves.toMatchObject({ tokenType: 'Bearer' })
  })

  it('reads JSON and forms, ignores other members, and names the member that is wrong', async () => {
    const { vaultOf, clock, assert } = await setUp()
    const send = (body: unknown) => exchangeAssertion({ vaultOf, tokenURI: [TOKEN_URI], clock }, body)
    const body = async (jti: string) => ({ grant_type: GRANT, assertion: await assert({ jti }), scope: null, client: 'x' })
    await send(await body('1'))
    await send(JSON.stringify(await body('2')))
    const { grant_type, assertion } = await body('3')
    await send(new URLSearchParams({ grant_type, assertion }).toString())
    const malformed = [
      undefined,
      null,
      7,
      [],
      '',
      '{',
      'x',
      {},
      { grant_type },
      { assertion },
      { grant_type: 'password', assertion },
    ]
    const twice = `grant_type=${grant_type}&assertion=${assertion}&assertion=${assertion}`
    for (const given of [...malformed, twice, { grant_type, assertion: 'x'.repeat(8193) }, { grant_type, assertion, scope: 7 }])
      await expect(send(given)).rejects.toMatchObject({ code: 'invalid_request', httpStatus: 400 })
  })

  it('ends with the service account: it and its bearers are refused from then on', async () => {
    const { vault, key, exchange, assert } = await setUp()
    const { accessToken } = await exchange(await assert())
    await vault.as(OWNER).revokeCredential({ keyId: key.keyID })
    expect(await ask(serviceAccounts(), accessToken, vault)).toEqual({ refused: 'bearer that is not valid' })
    await expect(assert({ jti: 'x' }).then(exchange)).rejects.toMatchObject({ message: REFUSAL })
  })

  it('gives bearers of one vault only, and texts of other kinds are left to other authenticators', async () => {
    const { vault, exchange, assert, key, seconds } = await setUp()
    const foreign = await openVaultAt(engine, testClock(), 'v2')
    const { accessToken } = await exchange(await assert())
    const refused = { refused: 'bearer that is not valid' }
    expect(await ask(serviceAccounts(), accessToken, foreign)).toEqual(refused)
    expect(await ask(serviceAccounts(), accessToken, undefined)).toEqual(refused)
    for (const text of ['', 'x', 'a.b.c', await signClaims(key, assertionClaims(key, seconds()))])
      expect(await ask(serviceAccounts(), text, vault)).toBeUndefined()
  })
})
