/** Requests with JWTs: what refusals show, and what events record. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { createHandler, type Handler } from '../../../src/http/index.ts'
import type { Vault } from '../../../src/index.ts'
import { authenticator } from '../../support/credentials/ask.ts'
import { claims, NOW, OTHER_RSA, RSA, signed, signedByHand } from '../../support/credentials/issuer.ts'
import { OWNER, openPeople, type People } from '../../support/vaults/test-vault.ts'

const REQUEST_ID = '0f8fad5b-d9cb-469f-a165-70867728950e'

let vaults: Vault<People>[]
let handler: Handler
let reasons: unknown[]

beforeEach(async () => {
  vaults = [await openPeople(memoryStorage(), 'v1'), await openPeople(memoryStorage(), 'v2')]
  reasons = []
  const log = { info() {}, error() {}, warn: (fields: object) => reasons.push({ ...fields }) }
  handler = createHandler({ vaults, authenticate: authenticator({}, { roles: () => ['VAULT_OWNER'] }), log, trustedProxies: 1 })
})

afterEach(async () => {
  await handler.close()
  for (const vault of vaults) await vault.close()
})

function ask(authorization: string | undefined, vaultID = 'v1', headers: Record<string, string> = {}): Promise<Response> {
  const all = { ...headers, 'x-request-id': REQUEST_ID, ...(authorization === undefined ? {} : { authorization }) }
  return handler(new Request(`http://vault.acme.example/v1/vaults/${vaultID}/orders?limit=1`, { headers: all }))
}

it('a valid token is answered, and the event has all of the credential and the request', async () => {
  const token = await signed(claims({ ctx: { id: 'c1', email: 'end@acme.example' } }))
  const answer = await ask(`Bearer ${token}`, 'v1', {
    'x-forwarded-for': '1.1.1.1, 203.0.113.9',
    origin: 'https://app.acme.example',
  })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('x-request-id')).toBe(REQUEST_ID)
  const { events } = (await vaults[0]?.as(OWNER).listEvents({ filterOps: { accountID: 'v1' } })) ?? { events: [] }
  expect(events[0]).toMatchObject({
    context: {
      actor: 'ann@acme.example',
      actorType: 'USER',
      authMode: 'IDP_JWT',
      bearerTokenContextID: 'c1',
      ipAddress: '203.0.113.9',
      jwtID: 'token-1',
      origin: 'https://app.acme.example',
      requestID: REQUEST_ID,
      subject: 'user-1',
    },
    request: { userEmail: 'end@acme.example' },
  })
})

it('every refusal has the same bytes, and its reason is in the log alone', async () => {
  await vaults[0]?.as(OWNER).revokeCredential({ jti: 'revoked', expiresAt: (NOW + 600) * 1000 })
  const valid = await signed(claims())
  const requests: readonly (readonly [authorization: string | undefined, vaultID?: string])[] = [
    [undefined],
    ['Basic abc'],
    [valid],
    ['Bearer '],
    [`Bearer ${'a'.repeat(8193)}`],
    ['Bearer unknown'],
    [`Bearer ${valid}, Bearer ${valid}`],
    [`Bearer ${await signed(claims({ exp: NOW - 60 }))}`],
    [`Bearer ${await signed(claims({ nbf: NOW + 60 }))}`],
    [`Bearer ${await signed(claims({ iss: 'https://other.example' }))}`],
    [`Bearer ${await signed(claims({ aud: 'other' }))}`],
    [`Bearer ${await signed(claims({ jti: 'revoked' }))}`],
    [`Bearer ${await signed(claims(), 'RS256', OTHER_RSA.privateKey)}`],
    [`Bearer ${signedByHand({ alg: 'RS256', jku: 'https://evil.example' }, claims(), RSA.privateKey)}`],
    [`Bearer ${valid}`, 'v2'],
    [`Bearer ${valid}`, 'v3'],
  ]
  const bodies = new Set<string>()
  for (const request of requests) {
    const answer = await ask(...request)
    expect(answer.status).toBe(401)
    bodies.add(`${JSON.stringify([...answer.headers])} ${await answer.text()}`)
  }
  expect(bodies.size).toBe(1)
  expect(JSON.parse([...bodies][0]?.replace(/^.*?\]\] /s, '') ?? '')).toMatchObject({ error: { grpc_code: 16, http_code: 401 } })
  for (const reason of ['expired', 'revoked', 'vault that it does not name', 'header parameter jku']) {
    expect(reasons).toContainEqual({ requestID: REQUEST_ID, reason })
  }
})
