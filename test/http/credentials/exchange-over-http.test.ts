/** Service accounts and API keys over real sockets, with two servers of one vault: what one revokes or spends, the other refuses at once. */
import { createServer, type RequestListener } from 'node:http'
import express from 'express'
import { expect, it } from 'vitest'
import { createServiceAccount, type ServiceAccountKey } from '../../../src/http/credentials/service-accounts.ts'
import {
  answerClientError,
  apiKeys,
  createApiKey,
  createHandler,
  serviceAccounts,
  signDataTokens,
  toNodeHandler,
} from '../../../src/http/index.ts'
import type { Vault } from '../../../src/index.ts'
import { type Clients, eventsOf, openClients } from '../../support/audit/audited-clients.ts'
import { type Answer, ask } from '../../support/http/ask.ts'
import { assertionClaims, forgedTexts, OTHER_PRIVATE_KEY, signClaims } from '../../support/http/client-jwts.ts'
import { TOKEN_URI } from '../../support/http/credential-vaults.ts'
import { listen, stop } from '../../support/http/serve-vault.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import type { Place } from '../../support/storages/places.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const ROUTE = '/v1/auth/sa/oauth/token'
const POLICY = {
  reader: ['ALLOW READ, DETOKENIZATION ON clients.* WITH REDACTION = PLAIN_TEXT WHERE country = ctx.country'],
  writer: ['ALLOW CREATE ON clients.*'],
} as const
const ACCOUNT = { name: 'billing', roles: ['reader', 'writer'], tokenURI: TOKEN_URI } as const
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** A server of one vault. */
interface Served {
  readonly vault: Vault<Clients>
  /** Every line of the host's log. */
  readonly logged: string[]
  send(method: string, path: string, credential: string | null, options?: object): Promise<Answer>
  exchange(assertion: string, more?: object): Promise<Answer>
  close(): Promise<void>
}

async function serve(place: Place, id = 'v1', listener = (handle: RequestListener): RequestListener => handle): Promise<Served> {
  const vault = await openClients(place.open(), { id, policy: POLICY })
  const logged: string[] = []
  const line = (fields: object, message: string): void => void logged.push(`${JSON.stringify(fields)} ${message}`)
  const authenticate = [apiKeys(), serviceAccounts()]
  const handler = createHandler({ vaults: vault, authenticate, tokenURI: TOKEN_URI, log: { warn: line, error: line } })
  const server = createServer(listener(toNodeHandler(handler))).on('clientError', answerClientError)
  const port = await listen(server)
  const send: Served['send'] = (method, path, credential, options) => ask(port, [method, path], { credential, ...options })
  return {
    vault,
    logged,
    send,
    exchange: (assertion, more) => send('POST', ROUTE, null, { body: { grant_type: GRANT, assertion, ...more } }),
    async close() {
      await stop(server)
      await handler.close()
      await vault.close()
    },
  }
}

function assertionOf(key: ServiceAccountKey, more: object = {}): Promise<string> {
  const claims = { ...assertionClaims(key, Math.floor(Date.now() / 1000)), jti: crypto.randomUUID(), ...more }
  return signClaims(key, claims)
}

const CLIENTS = '/v1/vaults/v1/clients'

onEachStorage('credentials over sockets', (engine) => {
  /** Serves one vault twice, and another vault. */
  const serveAll = async () => {
    const place = engine.fresh()
    const [first, second, other] = [await serve(place), await serve(place), await serve(engine.fresh(), 'v2')]
    const owner = first.vault.as(OWNER)
    await owner.insert('clients', [{ fields: { name: 'Åsa', country: 'SE' } }, { fields: { name: 'Dora', country: 'DE' } }])
    const close = async (): Promise<void> => {
      for (const served of [first, second, other]) await served.close()
    }
    return { first, second, other, owner, close }
  }

  it('an API key and a bearer are refused by every server once one has revoked them', async () => {
    const { first, second, owner, close } = await serveAll()
    const { keyId, apiKey } = await createApiKey(owner, { name: 'export', roles: ['reader'], context: { country: 'SE' } })
    const format = { prefix: 'acme' }
    const inForm = await createApiKey(owner, { name: 'import', roles: ['reader'], context: { country: 'SE' }, format })
    expect(inForm.apiKey).toMatch(/^[a-z]+-[A-Za-z0-9]{5}-[0-9a-fA-F]{32}$/)
    const key = await createServiceAccount(owner, { ...ACCOUNT, context: { country: 'SE' } })
    const bearer = (await second.exchange(await assertionOf(key))).json.accessToken
    const single = (await second.exchange(await assertionOf(key))).json.accessToken
    for (const credential of [apiKey, inForm.apiKey, bearer, single]) {
      for (const served of [first, second]) expect((await served.send('GET', CLIENTS, credential)).status).toBe(200)
    }
    const { jti, exp } = JSON.parse(Buffer.from(single.split('.')[1], 'base64url').toString())
    await owner.revokeCredential({ jti, expiresAt: exp * 1000 })
    expect((await second.send('GET', CLIENTS, single)).status).toBe(401)
    expect((await second.send('GET', CLIENTS, bearer)).status).toBe(200)
    await owner.revokeCredential({ keyId })
    expect((await second.send('GET', CLIENTS, apiKey)).status).toBe(401)
    await first.vault.as(OWNER).revokeCredential({ keyId: inForm.keyId })
    expect((await second.send('GET', CLIENTS, inForm.apiKey)).status).toBe(401)
    for (const { keyId: stored } of (await owner.listCredentials()).credentials) await owner.revokeCredential({ keyId: stored })
    expect((await second.send('GET', CLIENTS, bearer)).status).toBe(401)
    expect((await second.exchange(await assertionOf(key))).status).toBe(401)
    await close()
  })

  it('50 first calls of a client that signs no jti succeed at once, on two servers', async () => {
    const { first, second, owner, close } = await serveAll()
    const key = await createServiceAccount(owner, ACCOUNT)
    const assertion = await assertionOf(key, { jti: undefined })
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => (index % 2 ? first : second).exchange(assertion)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(new Set(answers.map(({ json }) => json.accessToken)).size).toBe(50)
    await close()
  })

  it('an assertion with a jti serves once, whichever server it is sent to, also at the same time', async () => {
    const { first, second, owner, close } = await serveAll()
    const key = await createServiceAccount(owner, ACCOUNT)
    const assertion = await assertionOf(key)
    const answers = await Promise.all([first, second, first, second].map((served) => served.exchange(assertion)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401, 401, 401])
    expect((await second.exchange(assertion)).status).toBe(401)
    await close()
  })

  it('a scope only narrows roles, and a claim never overrides the context of the account', async () => {
    const { first, owner, close } = await serveAll()
    const key = await createServiceAccount(owner, { ...ACCOUNT, context: { country: 'SE' } })
    const narrow = (await first.exchange(await assertionOf(key), { scope: 'role:writer' })).json.accessToken
    expect((await first.send('GET', CLIENTS, narrow)).status).toBe(401)
    for (const scope of ['role:VAULT_OWNER', 'role:reader role:VAULT_OWNER', 'reader', 'role:']) {
      const { status, json } = await first.exchange(await assertionOf(key), { scope })
      expect([status, json.accessToken]).toEqual([expect.toSatisfy((code: number) => code === 400 || code === 401), undefined])
    }
    const ctx = { country: 'DE', roles: ['VAULT_OWNER'], id: 'c-1' }
    const bearer = (await first.exchange(await assertionOf(key, { ctx, roles: ['VAULT_OWNER'] }))).json.accessToken
    const { json } = await first.send('GET', CLIENTS, bearer)
    expect(json.records.map(({ fields }: { fields: { name: string } }) => fields.name)).toEqual(['Å**'])
    expect((await first.send('DELETE', `${CLIENTS}/${json.records[0].fields.svc_id}`, bearer)).status).toBe(401)
    await close()
  })

  it('forged, altered and foreign assertions and bearers have one answer, and leave no text of them anywhere', async () => {
    const { first, other, owner, close } = await serveAll()
    const key = await createServiceAccount(owner, ACCOUNT)
    const foreign = await createServiceAccount(other.vault.as(OWNER), ACCOUNT)
    const now = Math.floor(Date.now() / 1000)
    const claims = assertionClaims(key, now)
    const assertions = [
      ...(await forgedTexts(key, claims, key.privateKey)).filter((text) => text !== ''),
      await signClaims(key, { ...claims, aud: 'https://other.example/token' }),
      await signClaims(key, { ...claims, exp: now - 31 }),
      await signClaims(key, { ...claims, exp: now + 7200 }),
      await signClaims(key, { ...claims, nbf: now + 60 }),
      await signClaims(key, { ...claims, iss: foreign.clientID }),
      await signClaims({ privateKey: OTHER_PRIVATE_KEY }, claims),
      await assertionOf(foreign),
      await signClaims(foreign, claims),
    ]
    const texts = new Set<string>()
    for (const assertion of assertions) {
      const { status, text } = await first.exchange(assertion)
      texts.add(`${status} ${text}`)
    }
    expect([...texts]).toEqual([expect.stringMatching(/^401 .*The assertion is not valid/)])
    const bearer: string = (await first.exchange(await assertionOf(key))).json.accessToken
    const bearers = [
      `${bearer}A`,
      bearer.slice(0, -2),
      bearer.replace('.', '..'),
      await assertionOf(key),
      key.privateKey.slice(30, 90),
    ]
    const answers = await Promise.all(bearers.map((one) => first.send('GET', CLIENTS, one.replace(/\s/g, ''))))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect((await other.send('GET', '/v1/vaults/v2/clients', bearer)).status).toBe(401)
    const written = JSON.stringify([first.logged, other.logged, await eventsOf(first.vault), await eventsOf(other.vault)])
    for (const text of [...assertions.filter((one) => one.length > 60), ...bearers, bearer]) expect(written).not.toContain(text)
    await close()
  })

  it('signed tokens are detokenized for a while, for their context, in their vault, until the account is revoked', async () => {
    const { first, second, other, owner, close } = await serveAll()
    const { records } = await owner.insert('clients', [{ fields: { name: 'Eve', country: 'SE' } }], { tokenization: true })
    const token = String(records[0]?.tokens?.name)
    const key = await createServiceAccount(owner, ACCOUNT)
    const foreign = await createServiceAccount(other.vault.as(OWNER), ACCOUNT)
    const { apiKey } = await createApiKey(owner, { name: 'app', roles: ['reader'], context: { country: 'SE', id: 'c-7' } })
    const sign = async (with_: ServiceAccountKey, options: object = {}) =>
      (await signDataTokens(with_, [token], options))[0]?.signedToken ?? ''
    const valid = await sign(key, { ctx: 'c-7' })
    // Their time ended six seconds ago: clocks may differ by five.
    const past = { now: () => BigInt(Date.now() - 66_000) * 1_000_000n }
    const bad = [
      await sign(key, { ctx: 'c-8' }),
      await sign(key, { clock: past }),
      await sign({ ...key, privateKey: OTHER_PRIVATE_KEY }),
      await sign(foreign),
      `${valid}A`,
      valid.replace('signed_token_', 'signed_token_.'),
      'signed_token_',
    ]
    const detokenize = (served: Served, tokens: readonly string[]) =>
      served.send('POST', '/v1/vaults/v1/detokenize', apiKey, {
        body: { detokenizationParameters: tokens.map((one) => ({ token: one })), continueOnError: true },
      })
    const { status, json } = await detokenize(second, [valid, token, ...bad])
    expect(status).toBe(200)
    expect(json.records.slice(0, 2)).toEqual([
      { token: valid, valueType: 'STRING', value: 'E**' },
      { token, valueType: 'STRING', value: 'E**' },
    ])
    expect(json.records.slice(2)).toEqual(
      bad.map((one) => ({ token: one, valueType: 'NONE', value: '', error: json.records[2].error })),
    )
    const alone = await detokenize(first, ['signed_token_x.y.z'])
    const unknown = await detokenize(first, ['7f39c1a4-0000-4000-8000-000000000000'])
    expect(alone.text).toBe(unknown.text)
    expect(JSON.stringify([first.logged, await eventsOf(first.vault)])).not.toContain(valid)
    for (const { keyId, name } of (await owner.listCredentials()).credentials)
      if (name === 'billing') await owner.revokeCredential({ keyId })
    expect((await detokenize(second, [valid, token])).json.records[0].error).toBe(json.records[2].error)
    await close()
  })

  it.each([
    ['JSON', (handle: RequestListener) => handle],
    ['JSON after express.json()', (handle: RequestListener) => express().use(express.json(), handle)],
    ['JSON after a reader of bytes', (handle: RequestListener) => express().use(express.raw({ type: '*/*' }), handle)],
    ['JSON after a parser of text', (handle: RequestListener) => express().use(express.text({ type: '*/*' }), handle)],
  ])('a token request of %s is answered, and so is one in a form', async (_, listener) => {
    const served = await serve(engine.fresh(), 'v1', listener)
    const key = await createServiceAccount(served.vault.as(OWNER), ACCOUNT)
    const json = await served.exchange(await assertionOf(key))
    expect([json.status, Object.keys(json.json)]).toEqual([200, ['accessToken', 'tokenType']])
    const members = { grant_type: GRANT, assertion: await assertionOf(key), scope: 'role:reader' }
    const form = await served.send('POST', ROUTE, null, { body: String(new URLSearchParams(members)), headers: FORM })
    expect([form.status, form.json.tokenType]).toEqual([200, 'Bearer'])
    const body = JSON.stringify({ grant_type: GRANT, assertion: await assertionOf(key) })
    expect((await served.send('POST', ROUTE, null, { body, headers: FORM })).status).toBe(200)
    for (const wrong of ['', '{', '[]', 'null', '"x"', '{"grant_type":"password"}', `grant_type=${GRANT}&grant_type=${GRANT}`]) {
      const refused = await served.send('POST', ROUTE, null, { body: wrong, headers: FORM })
      expect([refused.status, refused.json.error.grpc_code]).toEqual([400, 3])
    }
    await served.close()
  })
})
