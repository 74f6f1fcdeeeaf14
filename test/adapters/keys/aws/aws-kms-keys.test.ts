/** Root keys wrapped by AWS KMS: the conformance suite with the official client, and what is special to KMS. */
import { inspect } from 'node:util'
import type { KMSClient } from '@aws-sdk/client-kms'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { awsKmsKeys } from '../../../../src/adapters/keys/aws/index.ts'
import { dataOf, rootKey } from '../../../../src/conformance/keys/sample.ts'
import { ALIAS, awsClient, operationOf, startAwsKms } from '../../../support/keys/aws-kms-server.ts'
import { type KeyServer, SERVICE_TEXT } from '../../../support/keys/key-server.ts'
import { type DisposableKeys, runKeyCases, runVaultOnKeys, SHORT_LIMITS } from '../../../support/keys/run-key-cases.ts'

let server: KeyServer
let client: KMSClient

beforeAll(async () => {
  server = await startAwsKms()
  client = awsClient(server)
})
beforeEach(() => server.renew())
afterAll(async () => {
  client.destroy()
  await server.close()
})

const open = (keyId = ALIAS) => awsKmsKeys({ client, keyId, ...SHORT_LIMITS })

function setup(): DisposableKeys {
  return { ...server, open: async () => open(), reopen: async () => open() }
}

runKeyCases('AWS KMS', setup)
runVaultOnKeys('AWS KMS', setup)

it('the associated data is the encryption context, and the key is named by its ARN', async () => {
  const keys = open()
  const wrapped = await keys.wrap(rootKey(), dataOf())
  expect(wrapped.keyId).toMatch(/^arn:aws:kms:.*key\/1$/)
  await keys.unwrap(wrapped, dataOf())
  const context = { strongroom: Buffer.from(dataOf()).toString('base64') }
  expect(server.requests().map(({ body }) => body.EncryptionContext)).toEqual([context, context])
  expect(server.requests().map(({ body }) => body.KeyId)).toEqual([ALIAS, wrapped.keyId])
})

it('a root key is wrapped again inside KMS, in one call', async () => {
  const keys = open()
  const wrapped = await keys.wrap(rootKey(), dataOf())
  await server.rotate()
  const again = await keys.rewrap?.(wrapped, dataOf())
  expect(again?.keyId).toMatch(/key\/2$/)
  expect(server.requests().map(operationOf)).toEqual(['Encrypt', 'ReEncrypt'])
})

it('errors have the name of the error of KMS, and none of its text', async () => {
  const keys = open()
  const wrapped = await keys.wrap(rootKey(), dataOf())
  await server.disable()
  const error: unknown = await keys.unwrap(wrapped, dataOf()).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({
    code: 'failed_precondition',
    message: expect.stringMatching(/^AWS KMS could not unwrap a root key: the key is disabled/),
    cause: { message: 'AWS KMS reported DisabledException' },
  })
  expect(inspect(error)).not.toContain(SERVICE_TEXT)
  expect(inspect(error)).not.toContain('127.0.0.1')
})

it.each([
  [400, 'LimitExceededException', 'unavailable', 'too many calls'],
  [429, 'Other', 'unavailable', 'too many calls'],
  [500, 'KeyUnavailableException', 'unavailable', 'cannot be reached'],
  [503, 'DependencyTimeoutException', 'unavailable', 'cannot be reached'],
  [400, 'KMSInvalidStateException', 'failed_precondition', 'is disabled, deleted'],
  [400, 'UnrecognizedClientException', 'failed_precondition', 'has no right'],
  [400, 'IncorrectKeyException', 'failed_precondition', 'belong to another key'],
  [400, 'SomethingNewException', 'internal', 'not expected'],
] as const)('%i %s is %s', async (status, name, code, text) => {
  const wrapped = await open().wrap(rootKey(), dataOf())
  server.answerWith({ status, body: { __type: name, message: SERVICE_TEXT } })
  await expect(open().unwrap(wrapped, dataOf())).rejects.toMatchObject({ code, message: expect.stringContaining(text) })
})

it('an unknown alias is refused', async () => {
  await expect(open('alias/other').wrap(rootKey(), dataOf())).rejects.toMatchObject({ code: 'failed_precondition' })
  await expect(open('alias/other').currentKeyId?.()).rejects.toMatchObject({ code: 'failed_precondition' })
})

it('a service that no one listens for is unavailable', async () => {
  const keys = awsKmsKeys({ client: awsClient({ port: 1 }), keyId: ALIAS, ...SHORT_LIMITS })
  await expect(keys.wrap(rootKey(), dataOf())).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(/^AWS KMS could not wrap a root key: it cannot be reached/),
  })
})

it('an answer without the key is an error of the service, and not a key', async () => {
  const keys = open()
  const wrapped = await keys.wrap(rootKey(), dataOf())
  server.changeAnswers(() => ({}))
  await expect(keys.unwrap(wrapped, dataOf())).rejects.toMatchObject({ code: 'internal' })
  await expect(keys.wrap(rootKey(), dataOf())).rejects.toMatchObject({ code: 'internal' })
})

it.each([
  [{ client: {}, keyId: ALIAS }, 'client must be a KMSClient'],
  [{ client: { send: () => {} }, keyId: '' }, 'keyId must be'],
  [{ client: { send: () => {} }, keyId: ALIAS, region: 'x' }, 'region'],
  [{ client: { send: () => {} }, keyId: ALIAS, callTimeoutMs: 0 }, 'callTimeoutMs'],
  [{ client: { send: () => {} }, keyId: ALIAS, openTimeoutMs: 1.5 }, 'openTimeoutMs'],
])('wrong options are refused by name %#', (options, text) => {
  expect(() => awsKmsKeys(options as never)).toThrow(text)
})
