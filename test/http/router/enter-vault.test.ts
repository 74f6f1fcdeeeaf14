/** Callers as authenticators of the host describe them. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { type Authenticate, clientAddressOf, type HttpLog, type NodeRequest } from '../../../src/http/index.ts'
import { bearerOf } from '../../../src/http/router/enter-vault.ts'
import { CLERK_CREDENTIAL, OWNER_CREDENTIAL } from '../../support/http/ask.ts'
import { serveVault } from '../../support/http/serve-vault.ts'

it('answers 500 where the authenticator describes a caller that is not valid, and logs which member is wrong', async () => {
  const logged: [object, string][] = []
  const log: HttpLog = { warn: () => {}, error: (fields, message) => logged.push([fields, message]) }
  const caller = { actor: 'ann@acme.example', actorType: 'USER', roles: 'VAULT_OWNER' } as const
  // A host in JavaScript can pass anything.
  const authenticate = (async () => ({ caller, credential: {} })) as unknown as Authenticate
  const served = await serveVault({ storage: memoryStorage(), handler: { authenticate, log } })
  const { status, json } = await served.ask('GET', '/v1/vaults/v1/people')
  await served.close()
  expect([status, json.error.grpc_code]).toEqual([500, 13])
  expect(JSON.stringify(json)).not.toContain('roles')
  expect(JSON.stringify(logged)).toContain('roles')
})

it.each([
  ['Bearer abc', 'abc'],
  ['bearer abc', 'abc'],
  ['BEARER abc', 'abc'],
  ['Bearer  abc', 'abc'],
  ['Bearer a.b-c_d~e+f/g==', 'a.b-c_d~e+f/g=='],
  [`Bearer ${'a'.repeat(8192)}`, 'a'.repeat(8192)],
])('%j has one', (header, credential) => {
  expect(bearerOf(header)).toBe(credential)
})

it.each([
  undefined,
  '',
  'Bearer',
  'Bearer ',
  'Bearerabc',
  'Bearer\tabc',
  ' Bearer abc',
  'Bearer abc ',
  'Bearer abc def',
  'Bearer abc, Bearer def',
  'Bearer abc,def',
  'Basic abc',
  'Token abc',
  'Bearer ab\u0000c',
  'Bearer ab\u007fc',
  'Bearer abcé',
  'Bearer abc\n',
  'Bearer abc\r\nx: y',
  'Bearer: abc',
  `Bearer ${'a'.repeat(8193)}`,
])('%j has none', (header) => {
  expect(bearerOf(header)).toBeUndefined()
})

it('any text has a credential of 1 to 8,192 visible characters, or none', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.string().map((text) => `Bearer ${text}`),
      ),
      (header) => {
        const credential = bearerOf(header)
        expect(credential === undefined || /^[!-+\--~]{1,8192}$/.test(credential)).toBe(true)
      },
    ),
  )
})

it('reports each refused credential with the address of its client, and no caller without a grant', async () => {
  const refused: object[] = []
  const served = await serveVault({
    storage: memoryStorage(),
    handler: {
      trustedProxies: ['loopback'],
      onRefused(report) {
        refused.push(report)
        throw new Error('of the host')
      },
    },
  })
  const headers = { 'x-forwarded-for': '2001:DB8::0:1' }
  const ask = (credential: string | null) => served.ask('GET', '/v1/vaults/v1/people', { credential, headers })
  const statuses = [(await ask('wrong')).status, (await ask(null)).status, (await ask('two, of them')).status]
  const address = clientAddressOf({ trustedProxies: ['loopback'] })
  expect(address({ headers, socket: { remoteAddress: '::ffff:127.0.0.1' } } as unknown as NodeRequest)).toBe('2001:db8::1')
  expect((await ask(CLERK_CREDENTIAL)).status).toBe(401)
  expect((await ask(OWNER_CREDENTIAL)).status).toBe(200)
  const body = 'grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=a.b.c'
  statuses.push((await served.ask('POST', '/v1/auth/sa/oauth/token', { body, credential: null, headers })).status)
  await served.close()
  expect(statuses).toEqual([401, 401, 401, 401])
  expect(refused).toEqual(
    ['wrong', undefined, undefined, undefined].map((credential) => ({ credential, address: '2001:db8::1' })),
  )
})
