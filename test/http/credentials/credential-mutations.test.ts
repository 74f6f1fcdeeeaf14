/** Mutated credentials of each kind: none is accepted, and none makes anything throw but the errors that are documented. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { apiKeys, createApiKey } from '../../../src/http/credentials/api-keys.ts'
import { resolveSignedToken, signDataTokens } from '../../../src/http/credentials/data-tokens.ts'
import { exchangeAssertion } from '../../../src/http/credentials/exchange-assertion.ts'
import { createServiceAccount, serviceAccounts } from '../../../src/http/credentials/service-accounts.ts'
import { isVaultError } from '../../../src/index.ts'
import { assertionClaims, signClaims } from '../../support/http/client-jwts.ts'
import { ask, openVaultAt, TOKEN_URI, testClock } from '../../support/http/credential-vaults.ts'
import { memoryEngine } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'

/** Changes of a text: characters replaced, inserted or removed, parts swapped, and decoded parts with other JSON. */
const mutation = fc.record({
  kind: fc.constantFrom('replace', 'insert', 'remove', 'swap', 'double', 'json', 'case'),
  at: fc.nat(),
  text: fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom('=', '.', '\0', '_', '-', 'A', '🔑')),
  json: fc.jsonValue({ maxDepth: 2 }),
})

type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never

function mutate(whole: string, { kind, at, text, json }: Mutation): string {
  const index = at % (whole.length + 1)
  const parts = whole.split('.')
  const part = at % parts.length
  switch (kind) {
    case 'replace':
      return whole.slice(0, index) + text + whole.slice(index + text.length)
    case 'insert':
      return whole.slice(0, index) + text + whole.slice(index)
    case 'remove':
      return whole.slice(0, index) + whole.slice(index + 1)
    case 'swap':
      return parts.toReversed().join('.')
    case 'double':
      return whole + whole
    case 'case':
      return whole.slice(0, index) + whole.slice(index).toUpperCase()
    default:
      return parts.with(part, Buffer.from(JSON.stringify(json)).toString('base64url')).join('.')
  }
}

it('mutated credentials are never accepted', async () => {
  const clock = testClock()
  const vault = await openVaultAt(memoryEngine(), clock)
  const { apiKey } = await createApiKey(vault.as(OWNER), { name: 'nightly', roles: ['reader'] })
  const key = await createServiceAccount(vault.as(OWNER), { name: 'billing', roles: ['reader'], tokenURI: TOKEN_URI })
  const assert = (jti: string) => signClaims(key, { ...assertionClaims(key, clock.ms / 1000), jti })
  const exchange = (assertion: string) =>
    exchangeAssertion({ vaultOf: () => vault, tokenURI: TOKEN_URI, clock }, { grant_type: GRANT, assertion })
  const { accessToken } = await exchange(await assert('1'))
  const unused = await assert('2')
  const [signed] = await signDataTokens(key, ['a token'], { clock })
  const dataToken = signed?.signedToken ?? ''
  let changed = 0
  await fc.assert(
    fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 3 }), async (mutations) => {
      const mutated = (text: string) => mutations.reduce(mutate, text)
      for (const [authenticate, text] of [
        [apiKeys(), apiKey],
        [serviceAccounts(), accessToken],
      ] as const) {
        if (mutated(text) === text) continue
        changed++
        const answer = await ask(authenticate, mutated(text), vault)
        expect(answer === undefined || 'refused' in answer).toBe(true)
      }
      if (mutated(dataToken) !== dataToken)
        expect(await resolveSignedToken(vault, mutated(dataToken), { caller: {}, clock })).toBeUndefined()
      if (mutated(unused) === unused) return
      const error: unknown = await exchange(mutated(unused)).then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      expect(isVaultError(error, 'unauthenticated') || isVaultError(error, 'invalid_request')).toBe(true)
    }),
    { numRuns: 500 },
  )
  expect(changed).toBeGreaterThan(400)
  // The originals are accepted, so something was refused for its change.
  expect(await ask(apiKeys(), apiKey, vault)).toHaveProperty('caller')
  expect(await ask(serviceAccounts(), accessToken, vault)).toHaveProperty('caller')
  expect(await resolveSignedToken(vault, dataToken, { caller: {}, clock })).toBe('a token')
  expect(await exchange(unused)).toHaveProperty('accessToken')
})
