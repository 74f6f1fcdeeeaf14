/** Signed data tokens: what a client signs resolves for a while, in its vault and its context, as long as the service account is valid. */
import { createPublicKey } from 'node:crypto'
import { expect, it } from 'vitest'
import { isSignedToken, resolveSignedToken, signDataTokens } from '../../../src/http/credentials/data-tokens.ts'
import { createServiceAccount } from '../../../src/http/credentials/service-accounts.ts'
import type { Caller } from '../../../src/index.ts'
import { assertionClaims, forgedTexts, signClaims } from '../../support/http/client-jwts.ts'
import { onMemoryAndSqlite, openVaultAt, TOKEN_URI, testClock } from '../../support/http/credential-vaults.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const TOKEN = 'f535c478-92d2-4098-ba5f-aad278a468a2'

onMemoryAndSqlite('signed data tokens', (engine) => {
  const setUp = async () => {
    const clock = testClock()
    const vault = await openVaultAt(engine, clock)
    const key = await createServiceAccount(vault.as(OWNER), { name: 'site', roles: ['reader'], tokenURI: TOKEN_URI })
    const resolve = (text: string, context: Caller['context'] = {}) =>
      resolveSignedToken(vault, text, { caller: { context }, clock })
    const claims = { iss: 'sdk', key: key.keyID, sub: key.clientID, exp: clock.ms / 1000 + 60, tok: TOKEN }
    const sign = async (more: object) => `signed_token_${await signClaims(key, { ...claims, ...more })}`
    return { clock, vault, key, resolve, claims, sign }
  }

  it('resolve to the token until they expire, and at most 5 seconds longer', async () => {
    const { clock, key, resolve } = await setUp()
    const [signed, other] = await signDataTokens(key, [TOKEN, 'another'], { ttlSeconds: 90, clock })
    if (signed === undefined || other === undefined) return expect.fail('two tokens are signed')
    expect(signed.token).toBe(TOKEN)
    expect(isSignedToken(signed.signedToken)).toBe(true)
    expect(await resolve(signed.signedToken)).toBe(TOKEN)
    expect(await resolve(other.signedToken)).toBe('another')
    clock.ms += 94_999
    expect(await resolve(signed.signedToken)).toBe(TOKEN)
    clock.ms += 1
    expect(await resolve(signed.signedToken)).toBeUndefined()
  })

  it('are signed for whole seconds, from 1', async () => {
    const { key } = await setUp()
    for (const ttlSeconds of [0, -1, 1.5, Number.NaN, '60'])
      await expect(signDataTokens(key, [TOKEN], { ttlSeconds: ttlSeconds as number })).rejects.toMatchObject({
        code: 'invalid_request',
        message: 'Option "ttlSeconds" must be an integer from 1.',
      })
  })

  it('resolve only for callers whose context has the attributes of theirs', async () => {
    const { resolve, sign } = await setUp()
    const text = await sign({ ctx: 'c-1' })
    expect(await resolve(text, { id: 'c-1' })).toBe(TOKEN)
    expect(await resolve(text, { id: 'c-1', more: true })).toBe(TOKEN)
    for (const context of [undefined, {}, { id: 'c-2' }, { id: 1 }]) expect(await resolve(text, context)).toBeUndefined()
    const object = await sign({ ctx: { id: 'c-1', level: 3 } })
    expect(await resolve(object, { id: 'c-1', level: 3 })).toBe(TOKEN)
    expect(await resolve(object, { id: 'c-1' })).toBeUndefined()
    for (const ctx of [{ nested: {} }, { id: 'c-1', nested: null }, ['c-1'], 7, { id: 2 ** 60 }])
      expect(await resolve(await sign({ ctx }), { id: 'c-1' })).toBeUndefined()
    expect(await resolve(await sign({ ctx: { toString: 'x' } }), {})).toBeUndefined()
    for (const ctx of [null, '', {}]) expect(await resolve(await sign({ ctx }), { id: 'c-1' })).toBe(TOKEN)
    const nested = { id: 'c-1', groups: ['a', { b: 1 }] }
    expect(await resolve(await sign({ ctx: nested }), nested)).toBe(TOKEN)
    expect(await resolve(await sign({ ctx: nested }), { ...nested, groups: ['a', { b: 2 }] })).toBeUndefined()
  })

  it('that are forged, of another use, vault or key, or incomplete do not resolve', async () => {
    const { clock, vault, key, resolve, claims, sign } = await setUp()
    const publicKey = createPublicKey(key.privateKey).export({ type: 'spki', format: 'pem' }).toString()
    const foreign = await openVaultAt(engine, clock, 'v2')
    const otherKey = await createServiceAccount(vault.as(OWNER), { name: 'x', roles: ['reader'], tokenURI: TOKEN_URI })
    const genuine = await sign({})
    expect(await resolve(genuine)).toBe(TOKEN)
    expect(await resolveSignedToken(foreign, genuine, { caller: {}, clock })).toBeUndefined()
    const texts = [
      ...(await forgedTexts(key, claims, publicKey)).map((text) => `signed_token_${text}`),
      genuine.slice('signed_token_'.length),
      `signed_token_${await signClaims(key, assertionClaims(key, clock.ms / 1000))}`,
      `signed_token_${await signClaims(otherKey, claims)}`,
      await sign({ sub: otherKey.clientID }),
      await sign({ iss: key.clientID }),
      await sign({ exp: undefined }),
      await sign({ tok: undefined }),
      await sign({ tok: '' }),
      await sign({ tok: 7 }),
      await sign({ nbf: clock.ms / 1000 + 31 }),
      await sign({ tok: 'x'.repeat(9000) }),
      TOKEN,
    ]
    for (const text of texts) expect(await resolve(text)).toBeUndefined()
  })

  it('end with the service account', async () => {
    const { vault, key, resolve, sign } = await setUp()
    const text = await sign({})
    expect(await resolve(text)).toBe(TOKEN)
    await vault.as(OWNER).revokeCredential({ keyId: key.keyID })
    expect(await resolve(text)).toBeUndefined()
  })
})
