/** Root keys wrapped by Transit: the conformance suite against a server of the test, tokens that expire, and what is sent. */
import { inspect } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { type TransitKeysOptions, transitKeys } from '../../../../src/adapters/keys/transit/index.ts'
import { dataOf, rootKey } from '../../../../src/conformance/keys/sample.ts'
import { SERVICE_TEXT } from '../../../support/keys/key-server.ts'
import { type DisposableKeys, runKeyCases, runVaultOnKeys, SHORT_LIMITS } from '../../../support/keys/run-key-cases.ts'
import { KEYS, startTransit, type TransitServer } from '../../../support/keys/transit-server.ts'

const [KEY, NEWER] = KEYS

function keysOf({ port }: Pick<TransitServer, 'port'>, options: Partial<TransitKeysOptions> = {}) {
  return transitKeys({ url: `http://127.0.0.1:${port}`, key: KEY, token: 'root', ...SHORT_LIMITS, ...options })
}

async function setup(): Promise<DisposableKeys> {
  const server = await startTransit()
  const open = async () => keysOf(server)
  return { ...server, open, reopen: open, discard: () => server.close() }
}

runKeyCases('Transit', setup)
runVaultOnKeys('Transit', setup)

const MOUNT = 'teams/eu/transit'
let server: TransitServer

beforeEach(async () => {
  server = await startTransit(MOUNT)
})
afterEach(() => server.close())

const open = (options: Partial<TransitKeysOptions> = {}) => keysOf(server, { mount: MOUNT, ...options })

it('requests have the path of the engine and the namespace, and wrapped bytes are the text of Transit', async () => {
  const keys = open({ url: `http://127.0.0.1:${server.port}/`, namespace: 'admin' })
  const { keyId, bytes } = await keys.wrap(rootKey(), dataOf())
  expect(keyId).toBe('pii/v1')
  expect(Buffer.from(bytes).toString()).toMatch(/^vault:v1:[A-Za-z0-9+/]+=*$/)
  await keys.unwrap({ keyId, bytes }, dataOf())
  expect(await keys.currentKeyId?.()).toBe('pii/v1')
  const sent = server.requests().map(({ method, path, headers }) => `${method} ${path} ${headers['x-vault-namespace']}`)
  expect(sent).toEqual(
    ['POST encrypt/pii', 'POST decrypt/pii', 'GET keys/pii'].map((call) => `${call.replace(' ', ` /v1/${MOUNT}/`)} admin`),
  )
})

it('what a key of another name wrapped is unwrapped with that one, and no name leads elsewhere', async () => {
  const wrapped = await open().wrap(rootKey(), dataOf())
  const newer = open({ key: NEWER })
  expect(await newer.unwrap(wrapped, dataOf())).toEqual(rootKey())
  expect((await newer.wrap(rootKey(), dataOf())).keyId).toBe('pii-2027/v1')
  const sent = server.calls()
  for (const keyId of ['../keys/pii/v1', 'pii/../pii-2027/v1', 'pii/v2', 'pii/v1/v1', 'pii?x/v1', 'pii%2f/v1', '/v1'])
    await expect(newer.unwrap({ ...wrapped, keyId }, dataOf())).rejects.toMatchObject({ code: 'failed_precondition' })
  expect(server.calls()).toBe(sent)
})

it('a token that expired is asked for again, once, and one that is the same is not sent again', async () => {
  server.tokens.clear()
  let issued = 0
  const token = async () => {
    server.tokens.clear()
    server.tokens.add(`token ${++issued}`)
    return `token ${issued}`
  }
  const keys = open({ token })
  const wrapped = await keys.wrap(rootKey(), dataOf())
  await keys.unwrap(wrapped, dataOf())
  expect([issued, server.calls()]).toEqual([1, 2])
  server.tokens.clear()
  expect(await keys.unwrap(wrapped, dataOf())).toEqual(rootKey())
  expect([issued, server.calls()]).toEqual([2, 4])
  server.tokens.clear()
  await expect(open({ token: () => 'revoked' }).unwrap(wrapped, dataOf())).rejects.toMatchObject({ code: 'failed_precondition' })
  expect(server.calls()).toBe(5)
})

it('without a token Transit is unavailable, until there is one', async () => {
  let isDown = true
  const token = () => {
    if (isDown) throw new Error(SERVICE_TEXT)
    return 'root'
  }
  const keys = open({ token })
  const error: unknown = await keys.wrap(rootKey(), dataOf()).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('`token` failed') })
  expect(inspect(error)).not.toContain(SERVICE_TEXT)
  isDown = false
  expect((await keys.wrap(rootKey(), dataOf())).keyId).toBe('pii/v1')
})

it('errors have the status, and nothing else of the answer', async () => {
  const keys = open()
  const wrapped = await keys.wrap(rootKey(), dataOf())
  const errors = [await keys.unwrap(wrapped, dataOf(2)).catch((thrown: unknown) => thrown)]
  server.tokens.clear()
  errors.push(await keys.unwrap(wrapped, dataOf()).catch((thrown: unknown) => thrown))
  expect(errors).toMatchObject(
    [400, 403].map((status) => ({ code: 'failed_precondition', cause: { message: `Vault Transit reported ${status}` } })),
  )
  expect(inspect(errors)).not.toMatch(`${SERVICE_TEXT}|127\\.0\\.0\\.1|root`)
})

it.each([
  ['a status of a proxy', () => ({ errors: [] })],
  ['data of another form', () => ({ data: { ciphertext: 'vault:v0:x', plaintext: 5, latest_version: '1' } })],
])('an answer that is not of Transit is unavailable: %s', async (_, change) => {
  const wrapped = await open().wrap(rootKey(), dataOf())
  server.changeAnswers(change)
  const keys = open({ openTimeoutMs: 100 })
  await expect(keys.wrap(rootKey(), dataOf())).rejects.toMatchObject({ code: 'unavailable' })
  await expect(keys.unwrap(wrapped, dataOf())).rejects.toMatchObject({ code: 'unavailable' })
  await expect(keys.currentKeyId?.()).rejects.toMatchObject({ code: 'unavailable' })
})

it.each([
  [{ url: 'vault.example.com' }, 'url'],
  [{ url: 'file:///etc' }, 'url'],
  [{ key: 'a/b' }, 'key'],
  [{ key: '..' }, 'key'],
  [{ mount: '/transit' }, 'mount'],
  [{ mount: 'a/../b' }, 'mount'],
  [{ token: '' }, 'token'],
  [{ token: 5 }, 'token'],
  [{ namespace: 5 }, 'namespace'],
  [{ callTimeoutMs: 0 }, 'callTimeoutMs'],
  [{ other: 1 }, 'other'],
])('wrong options are refused by name %#', (options, name) => {
  const given = { url: 'https://vault.example.com', key: KEY, token: 'root', ...options }
  expect(() => transitKeys(given as never)).toThrow(name)
})
