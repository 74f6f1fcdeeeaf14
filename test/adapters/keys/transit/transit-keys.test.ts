/** Root keys wrapped by Transit, with a server of the test: the exam of key providers, tokens that expire, and what is sent. */
import { afterEach, describe, expect, it } from 'vitest'
import { type TransitKeysOptions, transitKeys } from '../../../../src/adapters/keys/transit/index.ts'
import { type KeyProviderCase, keyProviderCases } from '../../../../src/conformance/keys/index.ts'
import { isVaultError } from '../../../../src/index.ts'
import { startTransit, type TransitServer } from '../../../support/key-services/transit-server.ts'

const KEY = 'pii'
const ROOT_KEY = new Uint8Array(32).fill(7)
const DATA = new Uint8Array(32).fill(1)

const servers: TransitServer[] = []

async function start(mount?: string): Promise<TransitServer> {
  const server = await startTransit(mount)
  server.key(KEY)
  servers.push(server)
  return server
}

function keysOf({ url }: TransitServer, options: Partial<TransitKeysOptions> = {}) {
  return transitKeys({ url, key: KEY, token: 'root', callTimeoutMs: 500, openTimeoutMs: 3000, ...options })
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

describe('the keys of Transit conform', () => {
  const run = async ({ run }: KeyProviderCase) => {
    const server = await start()
    const key = server.key(KEY)
    await run({
      open: async () => keysOf(server),
      reopen: async () => keysOf(server),
      rotate: async () => server.rotate(KEY),
      async disable() {
        key.isDeleted = true
      },
      async enable() {
        key.isDeleted = false
      },
      withdraw: async () => server.tokens.clear(),
      fail: async (fault, calls) => server.fail(fault, calls),
      calls: () => server.requests.length,
    })
  }
  it.each(keyProviderCases)('$name', run)
})

describe('the keys of Transit', () => {
  it('send what the engine expects: its path, a namespace, and nothing more', async () => {
    const server = await start('teams/eu/transit')
    const keys = keysOf(server, { url: `${server.url}/`, mount: 'teams/eu/transit', namespace: 'admin' })
    const { keyId, bytes } = await keys.wrap(ROOT_KEY, DATA)
    expect(keyId).toBe('pii/v1')
    expect(Buffer.from(bytes).toString()).toMatch(/^vault:v1:/)
    await keys.unwrap({ keyId, bytes }, DATA)
    expect(await keys.currentKeyId?.()).toBe('pii/v1')
    expect(server.requests).toEqual([
      'POST /v1/teams/eu/transit/encrypt/pii admin',
      'POST /v1/teams/eu/transit/decrypt/pii admin',
      'GET /v1/teams/eu/transit/keys/pii admin',
    ])
  })

  it('unwrap what a key of another name wrapped, and refuse a name that leads elsewhere', async () => {
    const server = await start()
    server.key('newer')
    const wrapped = await keysOf(server).wrap(ROOT_KEY, DATA)
    const newer = keysOf(server, { key: 'newer' })
    expect(await newer.unwrap(wrapped, DATA)).toEqual(ROOT_KEY)
    expect((await newer.wrap(ROOT_KEY, DATA)).keyId).toBe('newer/v1')
    const sent = server.requests.length
    for (const keyId of ['../keys/pii/v1', 'pii/../newer/v1', 'pii/v2', 'pii/v1/v1', 'pii?x/v1'])
      await expect(newer.unwrap({ ...wrapped, keyId }, DATA)).rejects.toMatchObject({ code: 'failed_precondition' })
    expect(server.requests.length).toBe(sent)
  })

  it('ask for a new token when theirs expired, once, and not again for one that is the same', async () => {
    const server = await start()
    server.tokens.clear()
    let issued = 0
    const token = async () => {
      server.tokens.clear()
      server.tokens.add(`token ${++issued}`)
      return `token ${issued}`
    }
    const keys = keysOf(server, { token })
    const wrapped = await keys.wrap(ROOT_KEY, DATA)
    await keys.unwrap(wrapped, DATA)
    expect([issued, server.requests.length]).toEqual([1, 2])
    server.tokens.clear()
    expect(await keys.unwrap(wrapped, DATA)).toEqual(ROOT_KEY)
    expect([issued, server.requests.length]).toEqual([2, 4])
    server.tokens.clear()
    const same = keysOf(server, { token: () => 'revoked' })
    await expect(same.unwrap(wrapped, DATA)).rejects.toMatchObject({ code: 'failed_precondition' })
    expect(server.requests.length).toBe(5)
  })

  it('are unavailable without a token, and go on when there is one', async () => {
    const server = await start()
    let isDown = true
    const token = () => {
      if (isDown) throw new Error('canary-secret')
      return 'root'
    }
    const keys = keysOf(server, { token, openTimeoutMs: 100 })
    const failed: unknown = await keys.wrap(ROOT_KEY, DATA).catch((error: unknown) => error)
    expect(isVaultError(failed, 'unavailable') && `${failed.message} ${failed.cause}`).toMatch(/`token` failed(?!.*canary)/)
    isDown = false
    expect((await keys.wrap(ROOT_KEY, DATA)).keyId).toBe('pii/v1')
  })

  it('refuse a version that is no longer allowed', async () => {
    const server = await start()
    const keys = keysOf(server)
    const wrapped = await keys.wrap(ROOT_KEY, DATA)
    server.rotate(KEY)
    server.key(KEY).minDecryptionVersion = 2
    await expect(keys.unwrap(wrapped, DATA)).rejects.toMatchObject({ code: 'failed_precondition' })
  })

  it('refuse wrong options', () => {
    const given = { url: 'https://vault.example.com', key: KEY, token: 'root' }
    const wrong: object[] = [
      { url: 'vault.example.com' },
      { key: 'a/b' },
      { key: '..' },
      { mount: '/transit' },
      { token: '' },
      { token: 5 },
      { namespace: 5 },
      { callTimeoutMs: 0 },
      { other: 1 },
    ]
    for (const options of wrong)
      expect(() => transitKeys({ ...given, ...options })).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  })
})
