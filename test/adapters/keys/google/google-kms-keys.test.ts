/** Root keys wrapped by Google Cloud KMS: the conformance suite with the official client, and what is special to KMS. */
import { inspect } from 'node:util'
import type { KeyManagementServiceClient } from '@google-cloud/kms'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { crc32c } from '../../../../src/adapters/keys/google/crc32c.ts'
import { googleKmsKeys } from '../../../../src/adapters/keys/google/index.ts'
import { dataOf, rootKey } from '../../../../src/conformance/keys/sample.ts'
import { GOOGLE_KEY, googleClient, startGoogleKms } from '../../../support/keys/google-kms-server.ts'
import { type KeyServer, SERVICE_TEXT } from '../../../support/keys/key-server.ts'
import { type DisposableKeys, runKeyCases, runVaultOnKeys, SHORT_LIMITS } from '../../../support/keys/run-key-cases.ts'

let server: KeyServer
let client: KeyManagementServiceClient

beforeAll(async () => {
  server = await startGoogleKms()
  client = googleClient(server)
  await client.initialize()
})
beforeEach(() => server.renew())
afterAll(async () => {
  await client.close()
  await server.close()
})

const open = () => googleKmsKeys({ client, key: GOOGLE_KEY, ...SHORT_LIMITS })

function setup(): DisposableKeys {
  return { ...server, open: async () => open(), reopen: async () => open() }
}

runKeyCases('Google Cloud KMS', setup)
runVaultOnKeys('Google Cloud KMS', setup)

it('the key is named by its version, and unwraps without naming it', async () => {
  const keys = open()
  const wrapped = await keys.wrap(rootKey(), dataOf())
  expect(wrapped.keyId).toBe(`${GOOGLE_KEY}/cryptoKeyVersions/1`)
  await server.rotate()
  expect(await keys.currentKeyId?.()).toBe(`${GOOGLE_KEY}/cryptoKeyVersions/2`)
  await keys.unwrap(wrapped, dataOf())
  expect(server.requests().map(({ path }) => path.slice(`/v1/${GOOGLE_KEY}`.length))).toEqual([':encrypt', '', ':decrypt'])
})

it('bytes that change on the way are not used', async () => {
  const keys = open()
  const wrapped = await keys.wrap(rootKey(), dataOf())
  const other = Buffer.from(rootKey(2)).toString('base64')
  for (const change of [
    (answer: object) => ({ ...answer, plaintext: other, ciphertext: other }),
    (answer: object) => ({ ...answer, plaintextCrc32c: '0', ciphertextCrc32c: '0' }),
    (answer: object) => ({ ...answer, plaintextCrc32c: undefined, ciphertextCrc32c: undefined }),
  ]) {
    server.changeAnswers(change)
    await expect(keys.unwrap(wrapped, dataOf())).rejects.toMatchObject({ code: 'unavailable' })
    await expect(keys.wrap(rootKey(), dataOf())).rejects.toMatchObject({ code: 'unavailable' })
  }
  for (const member of ['verifiedPlaintextCrc32c', 'verifiedAdditionalAuthenticatedDataCrc32c']) {
    server.changeAnswers((answer) => ({ ...answer, [member]: false }))
    await expect(keys.wrap(rootKey(), dataOf())).rejects.toMatchObject({ code: 'unavailable' })
  }
})

it('errors have the code of the error of KMS, and none of its text', async () => {
  const keys = open()
  const wrapped = await keys.wrap(rootKey(), dataOf())
  await server.disable()
  const error: unknown = await keys.unwrap(wrapped, dataOf()).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({
    code: 'failed_precondition',
    message: expect.stringMatching(/^Google Cloud KMS could not unwrap a root key: the key is disabled/),
    cause: { message: 'Google Cloud KMS reported 9' },
  })
  expect(inspect(error)).not.toContain(SERVICE_TEXT)
  expect(inspect(error)).not.toContain('127.0.0.1')
})

it.each([
  [400, 'INVALID_ARGUMENT', 'failed_precondition', 'belong to another key'],
  [400, 'FAILED_PRECONDITION', 'failed_precondition', 'is disabled, deleted'],
  [401, 'UNAUTHENTICATED', 'failed_precondition', 'has no right'],
  [409, 'ABORTED', 'unavailable', 'cannot be reached'],
  [501, 'UNIMPLEMENTED', 'internal', 'not expected'],
  [503, 'UNAVAILABLE', 'unavailable', 'cannot be reached'],
  [504, 'DEADLINE_EXCEEDED', 'unavailable', 'cannot be reached'],
] as const)('%i %s is %s', async (code, status, expected, text) => {
  const wrapped = await open().wrap(rootKey(), dataOf())
  server.answerWith({ status: code, body: { error: { code, status, message: SERVICE_TEXT } } })
  await expect(open().unwrap(wrapped, dataOf())).rejects.toMatchObject({ code: expected, message: expect.stringContaining(text) })
})

it('the client does not try again by itself', async () => {
  server.answerWith({ status: 503, body: { error: { code: 503, status: 'UNAVAILABLE', message: SERVICE_TEXT } } })
  await expect(googleKmsKeys({ client, key: GOOGLE_KEY }).wrap(rootKey(), dataOf())).rejects.toMatchObject({
    code: 'unavailable',
  })
  expect(server.calls()).toBe(3)
})

it('a bad request to wrap is a refusal, because nothing was wrapped yet', async () => {
  server.answerWith({ status: 400, body: { error: { code: 400, status: 'INVALID_ARGUMENT', message: SERVICE_TEXT } } })
  await expect(open().wrap(rootKey(), dataOf())).rejects.toMatchObject({
    message: expect.stringContaining('is disabled, deleted'),
  })
})

it('an answer without the key is an error of the service, and not a key', async () => {
  const keys = open()
  const wrapped = await keys.wrap(rootKey(), dataOf())
  server.changeAnswers(() => ({ name: GOOGLE_KEY }))
  await expect(keys.currentKeyId?.()).rejects.toMatchObject({ code: 'internal' })
  await expect(keys.unwrap(wrapped, dataOf())).rejects.toMatchObject({ code: 'unavailable' })
})

it('the checksum is that of RFC 3720', () => {
  const rising = Uint8Array.from({ length: 32 }, (_, at) => at)
  expect(crc32c(new TextEncoder().encode('123456789'))).toBe(0xe306_9283)
  expect([new Uint8Array(32), new Uint8Array(32).fill(0xff), rising, rising.toReversed()].map(crc32c)).toEqual([
    0x8a91_36aa, 0x62a8_ab43, 0x46dd_794e, 0x113f_db5c,
  ])
})

const CLIENT = { encrypt() {}, decrypt() {}, getCryptoKey() {} }

it.each([
  [{ client: {}, key: GOOGLE_KEY }, 'client must be a KeyManagementServiceClient'],
  [{ client: CLIENT, key: 'roots' }, 'key must be projects/'],
  [{ client: CLIENT, key: `${GOOGLE_KEY}/cryptoKeyVersions/1` }, 'without a version'],
  [{ client: CLIENT, key: GOOGLE_KEY, location: 'x' }, 'location'],
])('wrong options are refused by name %#', (options, text) => {
  expect(() => googleKmsKeys(options as never)).toThrow(text)
})
