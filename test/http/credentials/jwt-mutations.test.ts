/** No change of a token is accepted, and no text makes the check throw. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Authenticate } from '../../../src/http/credentials/authenticate.ts'
import { authenticator, requestOf } from '../../support/credentials/ask.ts'
import { claims, EC, ED, part, signed, signedByHand, TEST_SECRET } from '../../support/credentials/issuer.ts'

const KINDS = [
  ['RS256', authenticator(), () => signed(claims())],
  ['ES256', authenticator({ algorithms: ['ES256'], keys: [EC.publicKey] }), () => signed(claims(), 'ES256', EC.privateKey)],
  ['EdDSA', authenticator({ algorithms: ['EdDSA'], keys: [ED.publicKey] }), () => signed(claims(), 'EdDSA', ED.privateKey)],
  ['HS256', authenticator({ algorithms: ['HS256'], keys: [TEST_SECRET] }), () => signed(claims(), 'HS256', TEST_SECRET)],
] as const

async function isAccepted(authenticate: Authenticate, credential: string): Promise<boolean> {
  const answer = await authenticate(requestOf(credential))
  return answer !== undefined && !('refused' in answer)
}

/** A change of a text: what is removed from a position on, and what is put there. */
const change = fc.record({
  at: fc.nat(2000),
  removed: fc.nat(3),
  added: fc.string({ unit: fc.constantFrom(...'AZaz09-_.=+/ ,\n{}"\u0000é'), maxLength: 3 }),
})

function changed(text: string, { at, removed, added }: { at: number; removed: number; added: string }): string {
  const start = at % (text.length + 1)
  return text.slice(0, start) + added + text.slice(start + removed)
}

describe.each(KINDS)('a token of %s', (_alg, authenticate, token) => {
  it('is accepted unchanged, and with no character replaced, removed, or added', async () => {
    const valid = await token()
    expect(await isAccepted(authenticate, valid)).toBe(true)
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
        const text = changes.reduce(changed, valid)
        expect(await isAccepted(authenticate, text)).toBe(text === valid)
      }),
      { numRuns: 1000 },
    )
  })

  it('is accepted with no other last character', async () => {
    const valid = await token()
    for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
      const text = valid.slice(0, -1) + last
      expect(await isAccepted(authenticate, text), last).toBe(text === valid)
    }
  })
})

describe('a token with any JSON', () => {
  const json = fc.jsonValue({ maxDepth: 3 })
  const members = fc.dictionary(fc.constantFrom('alg', 'kid', 'typ', 'crit', 'b64', 'jwk', '__proto__', 'constructor'), json)

  it('as header is refused or another kind, unless it is a plain one', async () => {
    const authenticate = authenticator()
    await fc.assert(
      fc.asyncProperty(fc.oneof(json, members), async (header) => {
        expect(await isAccepted(authenticate, `${part(header)}.${part(claims())}.AAAA`)).toBe(false)
        expect(await isAccepted(authenticate, signedByHand(header, claims(), EC.privateKey))).toBe(false)
      }),
      { numRuns: 500 },
    )
  })

  it('as claims, rightly signed, never throws', async () => {
    const authenticate = authenticator({ vaults: () => ['v1'] }, { roles: () => [] })
    const names = fc.constantFrom('aud', 'exp', 'nbf', 'iat', 'jti', 'sub', 'email', 'email_verified', 'ctx', 'sid', '__proto__')
    await fc.assert(
      fc.asyncProperty(fc.dictionary(names, json, { maxKeys: 3 }), async (changes) => {
        await isAccepted(authenticate, signedByHand({ alg: 'RS256' }, { ...claims(), ...changes }))
      }),
      { numRuns: 500 },
    )
  })

  it('or any text at all never throws', async () => {
    const authenticate = authenticator()
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(fc.base64String(), { maxLength: 5 }).map((parts) => parts.join('.')),
    )
    await fc.assert(
      fc.asyncProperty(text, async (credential) => {
        expect(await isAccepted(authenticate, credential)).toBe(false)
      }),
      { numRuns: 1000 },
    )
  })
})
