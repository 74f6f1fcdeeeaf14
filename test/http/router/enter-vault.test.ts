/** Callers as authenticators of the host describe them. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import type { Authenticate, HttpLog } from '../../../src/http/index.ts'
import { bearerOf } from '../../../src/http/router/enter-vault.ts'
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
