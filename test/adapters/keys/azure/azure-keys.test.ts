/** Root keys wrapped by Azure: the conformance suite with the official client, for keys of RSA and of AES, and what is special to them. */
import { createHash } from 'node:crypto'
import { inspect } from 'node:util'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { azureKeys } from '../../../../src/adapters/keys/azure/index.ts'
import { dataOf, rootKey } from '../../../../src/conformance/keys/sample.ts'
import {
  type AzureKeyType,
  type AzureServer,
  KEYS,
  makeTestCertificate,
  startAzure,
  type TestCertificate,
} from '../../../support/keys/azure-server.ts'
import { SERVICE_TEXT } from '../../../support/keys/key-server.ts'
import { type DisposableKeys, runKeyCases, runVaultOnKeys, SHORT_LIMITS } from '../../../support/keys/run-key-cases.ts'

const [KEY, NEWER] = KEYS
let certificate: TestCertificate
beforeAll(() => {
  certificate = makeTestCertificate()
})

for (const keyType of ['RSA', 'oct-HSM'] as const) {
  const setup = async (): Promise<DisposableKeys> => {
    const server = await startAzure(keyType, certificate)
    const open = async () => azureKeys({ client: server.client, key: KEY, ...SHORT_LIMITS })
    return { ...server, open, reopen: open, discard: () => server.close() }
  }
  runKeyCases(`Azure (${keyType})`, setup)
  runVaultOnKeys(`Azure (${keyType})`, setup)
}

let server: AzureServer
const start = async (keyType: AzureKeyType) => {
  server = await startAzure(keyType, certificate)
}
const open = (key: string = KEY) => azureKeys({ client: server.client, key, ...SHORT_LIMITS })

describe('an RSA key of Azure', () => {
  beforeEach(() => start('RSA'))
  afterEach(() => server.close())

  it('is named by the id of its version, and the associated data is in what it wraps', async () => {
    const keys = open()
    const wrapped = await keys.wrap(rootKey(), dataOf())
    expect(wrapped.keyId).toBe(`${server.url}/keys/pii/${'1'.padStart(32, '0')}`)
    expect(wrapped.bytes.length).toBe(256)
  })

  it('does not unwrap what was wrapped without the associated data, and does unwrap what an attacker wrapped with it', async () => {
    const keys = open()
    const { keyId } = await keys.wrap(rootKey(), dataOf())
    const crypto = server.client.getCryptographyClient(KEY)
    const { result: bare } = await crypto.wrapKey('RSA-OAEP-256', rootKey())
    await expect(keys.unwrap({ keyId, bytes: bare }, dataOf())).rejects.toMatchObject({ code: 'failed_precondition' })
    // The documentation says so, and names `keyFingerprint`.
    const hash = createHash('sha256').update(dataOf()).digest()
    const { result: forged } = await crypto.wrapKey('RSA-OAEP-256', Buffer.concat([rootKey(2), hash]))
    expect(await keys.unwrap({ keyId, bytes: forged }, dataOf())).toEqual(rootKey(2))
  })

  it('unwraps what a key of another name wrapped, and asks no other vault', async () => {
    const wrapped = await open().wrap(rootKey(), dataOf())
    expect(await open(NEWER).unwrap(wrapped, dataOf())).toEqual(rootKey())
    const sent = server.calls()
    const version = '1'.padStart(32, '0')
    for (const keyId of [
      `https://localhost:1/keys/pii/${version}`,
      `${server.url}/keys/pii`,
      `${server.url}/keys/../keys/pii/${version}`,
      `${server.url}/keys/pii/${version}/x`,
    ])
      await expect(open().unwrap({ ...wrapped, keyId }, dataOf())).rejects.toMatchObject({ code: 'failed_precondition' })
    expect(server.calls()).toBe(sent)
  })

  it('is asked once to unwrap again: the client remembers the key', async () => {
    const keys = open()
    const wrapped = await keys.wrap(rootKey(), dataOf())
    const before = server.calls()
    await keys.unwrap(wrapped, dataOf())
    expect(server.calls() - before).toBe(1)
  })

  it('that is refused gives an error with the status, and no text of Azure', async () => {
    const keys = open()
    const wrapped = await keys.wrap(rootKey(), dataOf())
    await server.disable()
    const error: unknown = await keys.unwrap(wrapped, dataOf()).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'failed_precondition', cause: { message: 'Azure Key Vault reported 403' } })
    expect(inspect(error)).not.toContain(SERVICE_TEXT)
    expect(inspect(error)).not.toContain('localhost')
    await expect(open('other').currentKeyId?.()).rejects.toMatchObject({ code: 'failed_precondition' })
  })

  it('that expired is refused by the client', async () => {
    const keys = open()
    server.changeAnswers((answer) => ({
      ...answer,
      ...('attributes' in answer ? { attributes: { enabled: true, exp: 1 } } : {}),
    }))
    await expect(keys.wrap(rootKey(), dataOf())).rejects.toMatchObject({ code: 'failed_precondition' })
  })

  it('is unavailable without a credential', async () => {
    const failing = Object.assign(new Error(SERVICE_TEXT), { name: 'CredentialUnavailableError' })
    const client = {
      ...server.client,
      vaultUrl: server.url,
      getKey: () => Promise.reject(failing),
      getCryptographyClient: () => {},
    }
    const keys = azureKeys({ client, key: KEY, openTimeoutMs: 100 })
    await expect(keys.wrap(rootKey(), dataOf())).rejects.toMatchObject({ code: 'unavailable' })
  })

  it('whose answer has no key is an error of the service', async () => {
    const keys = open()
    const wrapped = await keys.wrap(rootKey(), dataOf())
    server.changeAnswers(() => ({}))
    await expect(keys.unwrap(wrapped, dataOf())).rejects.toMatchObject({ code: 'internal' })
  })
})

it('an AES key of a Managed HSM authenticates the associated data itself', async () => {
  await start('oct-HSM')
  try {
    const keys = open()
    const wrapped = await keys.wrap(rootKey(), dataOf())
    expect(wrapped.bytes.length).toBe(60)
    const encrypted = server.requests().find(({ path }) => path.endsWith('/encrypt'))
    expect(Buffer.from(String(encrypted?.body.aad), 'base64url')).toEqual(Buffer.from(dataOf()))
  } finally {
    await server.close()
  }
})

it.each([
  [{ client: {}, key: KEY }, 'client must be a KeyClient'],
  [{ client: { getCryptographyClient: () => {}, vaultUrl: 'https://a' }, key: 'pii/1' }, 'key must be'],
  [{ client: { getCryptographyClient: () => {}, vaultUrl: 'https://a' }, key: KEY, keyId: 'x' }, 'keyId'],
  [{ client: { getCryptographyClient: () => {}, vaultUrl: 'https://a' }, key: KEY, callTimeoutMs: 0 }, 'callTimeoutMs'],
])('wrong options are refused by name %#', (options, text) => {
  expect(() => azureKeys(options as never)).toThrow(text)
})
