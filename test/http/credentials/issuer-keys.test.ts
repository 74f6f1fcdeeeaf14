/** Keys from a JWKS address: a real server that rotates its keys, fails, and hangs. */
import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createRemoteKeys } from '../../../src/http/credentials/issuer-keys.ts'
import { accepted, authenticator, refusal, requestOf } from '../../support/credentials/ask.ts'
import { claims, EC, jwkOf, NOW, OTHER_RSA, RSA, signed, TEST_SECRET } from '../../support/credentials/issuer.ts'
import { type JwksServer, startJwksServer } from '../../support/credentials/jwks-server.ts'

const FIRST = jwkOf(RSA.publicKey, { kid: 'first' })
const SECOND = jwkOf(OTHER_RSA.publicKey, { kid: 'second' })

const byFirst = (payload = claims()) => signed(payload, 'RS256', RSA.privateKey, { kid: 'first' })
const bySecond = () => signed(claims(), 'RS256', OTHER_RSA.privateKey, { kid: 'second' })

let server: JwksServer

beforeEach(async () => {
  // The age of keys is measured with Date. Sockets keep the real timers.
  vi.useFakeTimers({ toFake: ['Date'], now: NOW * 1000 })
  server = await startJwksServer([FIRST])
})

afterEach(async () => {
  vi.useRealTimers()
  await server.stop()
})

const remote = () => authenticator({ jwks: server.url })
const seconds = (count: number) => vi.setSystemTime(Date.now() + count * 1000)

describe('keys of a JWKS address', () => {
  it('are fetched once, also for many tokens at once', async () => {
    const authenticate = remote()
    const token = await byFirst()
    await Promise.all(Array.from({ length: 20 }, () => accepted(authenticate, token)))
    seconds(599)
    await accepted(authenticate, await byFirst(claims({ exp: NOW + 2000 })))
    expect(server.requests()).toBe(1)
  })

  it('are fetched again after ten minutes, and a withdrawn key is refused then', async () => {
    const authenticate = remote()
    await accepted(authenticate, await byFirst())
    server.serve([SECOND])
    seconds(601)
    await expect(refusal(authenticate, await byFirst())).resolves.toBe('no key of the issuer has this key id and algorithm')
    expect(server.requests()).toBe(2)
  })

  it('are fetched again for a new key id', async () => {
    const authenticate = remote()
    await accepted(authenticate, await byFirst())
    server.serve([FIRST, SECOND])
    seconds(5)
    await accepted(authenticate, await bySecond())
    await accepted(authenticate, await byFirst())
    expect(server.requests()).toBe(2)
  })

  it('are fetched at most every five seconds for invented key ids', async () => {
    const authenticate = remote()
    for (let i = 0; i < 50; i++) {
      const token = await signed(claims(), 'RS256', OTHER_RSA.privateKey, { kid: `invented-${i}` })
      await expect(refusal(authenticate, token)).resolves.toBe('no key of the issuer has this key id and algorithm')
    }
    // The keys were new at the first one.
    expect(server.requests()).toBe(1)
  })

  it('are not fetched for an algorithm or a header that is refused', async () => {
    const authenticate = remote()
    await refusal(authenticate, await signed(claims(), 'ES256', EC.privateKey, { kid: 'invented' }))
    await refusal(authenticate, await signed(claims(), 'HS256', TEST_SECRET, { kid: 'first' }))
    await refusal(authenticate, await signed(claims(), 'RS256', RSA.privateKey, { kid: 'x', jku: 'https://evil.example' }))
    expect(server.requests()).toBe(0)
  })

  it('are all tried for a token without a key id', async () => {
    server.serve([SECOND, FIRST, jwkOf(EC.publicKey)])
    await accepted(remote(), await signed(claims()))
  })

  it('for other uses are not used', async () => {
    server.serve([jwkOf(RSA.publicKey, { kid: 'first', use: 'enc' })])
    await expect(refusal(remote(), await byFirst())).resolves.toBe('no key of the issuer has this key id and algorithm')
  })

  it('cannot be secrets', async () => {
    server.serve([jwkOf(TEST_SECRET, { kid: 'first' })])
    const token = await signed(claims(), 'HS256', TEST_SECRET, { kid: 'first' })
    await expect(refusal(remote(), token)).resolves.toBe('algorithm that its issuer does not use')
  })
})

const FAILURES: readonly (readonly [string, (response: ServerResponse) => unknown])[] = [
  ['an error', (response) => response.writeHead(503).end()],
  ['a redirect', (response) => response.writeHead(302, { location: '/keys' }).end()],
  ['text that is no JSON', (response) => response.end('<html>')],
  ['JSON that is no key set', (response) => response.end('{"keys":{}}')],
  ['nothing', (response) => response.destroy()],
  [
    'half of an answer',
    (response) => response.writeHead(200, { 'content-length': '100' }).write('{"keys"', () => response.destroy()),
  ],
  ['more than 1 MB', (response) => response.end(JSON.stringify({ keys: [FIRST], padding: 'x'.repeat(1_000_000) }))],
]

describe('a JWKS server', () => {
  it.each(FAILURES)('that answers with %s makes the check impossible, which is no refusal', async (_what, answer) => {
    server.answer(answer)
    await expect(remote()(requestOf(await byFirst()))).rejects.toMatchObject({
      code: 'unavailable',
      message: 'The keys of the issuer cannot be fetched. Retry.',
    })
  })

  it('that hangs is waited for until the time limit', async () => {
    server.answer(() => {})
    const keys = createRemoteKeys(new URL(server.url), { timeoutMs: 50 })
    await expect(keys.find({ alg: 'RS256', kid: 'first' })).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('that fails is asked again after a second, and not before', async () => {
    const authenticate = remote()
    server.answer((response) => response.writeHead(503).end())
    for (let i = 0; i < 20; i++) await expect(authenticate(requestOf(await byFirst()))).rejects.toThrow()
    expect(server.requests()).toBe(1)
    server.serve([FIRST])
    seconds(1)
    await accepted(authenticate, await byFirst())
    expect(server.requests()).toBe(2)
  })

  it('that fails does not affect tokens of known keys, while these are fresh', async () => {
    const authenticate = remote()
    await accepted(authenticate, await byFirst())
    server.answer((response) => response.writeHead(503).end())
    seconds(6)
    await expect(authenticate(requestOf(await bySecond()))).rejects.toMatchObject({ code: 'unavailable' })
    await accepted(authenticate, await byFirst())
  })

  it('that does not exist makes the check impossible', async () => {
    await server.stop()
    await expect(remote()(requestOf(await byFirst()))).rejects.toMatchObject({ code: 'unavailable' })
    server = await startJwksServer([])
  })

  it('of one issuer does not affect another issuer', async () => {
    server.answer((response) => response.writeHead(503).end())
    await expect(remote()(requestOf(await byFirst()))).rejects.toThrow()
    await accepted(authenticator(), await byFirst())
  })
})
