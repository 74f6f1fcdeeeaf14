/** Requests of hostile callers: hosts that lead elsewhere, logs that fail, and vaults that others have. */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { createHandler, type Handler, type HandlerOptions } from '../../../src/http/index.ts'
import type { Vault } from '../../../src/index.ts'
import { eventsOf } from '../../support/audit/audited-clients.ts'
import { OWNER_CREDENTIAL } from '../../support/http/ask.ts'
import { lastResponse, openRaw } from '../../support/http/raw-connection.ts'
import { serveFiles } from '../../support/http/serve-files.ts'
import { testCredentials } from '../../support/http/serve-vault.ts'
import { memoryEngine } from '../../support/storages/engines.ts'
import { openPeople, type People } from '../../support/vaults/test-vault.ts'

const HOSTS: readonly (readonly [host: string, url: RegExp | undefined])[] = [
  ['vault.example', /^http:\/\/vault\.example\/v1\/files\//],
  ['my_vault:8443', /^http:\/\/my_vault:8443\/v1\/files\//],
  ['[::1]:80', /^http:\/\/\[::1\]:80\/v1\/files\//],
  ['', /^http:\/\/localhost\/v1\/files\//],
  ['evil.example/path?x=', undefined],
  ['vault.example@evil.example', undefined],
  ['vault.example#', undefined],
  ['a b', undefined],
  ['<script>', undefined],
  ['a"b', undefined],
  ['a:999999', undefined],
  ['a\u00e9', undefined],
  ['vault.example\r\nHost: evil.example', undefined],
]

it.each(HOSTS)('URLs for the host %j are those of it, or none', async (host, expected) => {
  const files = await serveFiles(memoryEngine())
  const body = JSON.stringify({ tableName: 'people', svcID: await files.person(), fileColumns: ['photo'] })
  const connection = await openRaw(files.port)
  const head = `POST /v2/vaults/v1/files/uploadURL HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${OWNER_CREDENTIAL}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  connection.send(Buffer.from(head + body, 'latin1'))
  const answer = lastResponse(await connection.until(/\r\n\r\n\{.*\}$/s))
  connection.reset()
  if (expected === undefined) {
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body).error.message).toMatch(/^Request failed\. The Host header/)
    expect(answer.body).not.toContain('evil')
  } else {
    expect(JSON.parse(answer.body).uploadURLs.photo.url).toMatch(expected)
  }
  await files.close()
})

let vaults: Vault<People>[]
let opened: string[]
let handler: Handler | undefined

beforeEach(async () => {
  vaults = [await openPeople(memoryStorage(), 'v1'), await openPeople(memoryStorage(), 'v2')]
  opened = []
})

afterEach(async () => {
  await handler?.close()
  for (const vault of vaults) await vault.close()
})

/** Sends a request to a host of both vaults, which opens them when they are asked for. */
async function ask(target: string, headers: Record<string, string>, options: Partial<HandlerOptions> = {}) {
  handler = createHandler({
    vaults: (id) => {
      opened.push(id)
      return vaults.find((vault) => vault.id === id)
    },
    vaultsOfAccount: () => ['v1', 'v2'],
    authenticate: testCredentials,
    ...options,
  })
  const answer = await handler(new Request(`http://vault.example${target}`, { headers }))
  return { status: answer.status, text: await answer.text() }
}

const OWNER_OF_V1: HandlerOptions['authenticate'] = async (request) =>
  request.vaultID === 'v1' ? testCredentials(request) : { refused: 'another vault' }

it('a log that throws changes no refusal', async () => {
  const broken = (): never => {
    throw new Error('TEST_SECRET of the log')
  }
  const log = { warn: broken, error: broken }
  const { status, text } = await ask('/v1/vaults/v1/people', { authorization: 'Bearer unknown' }, { log })
  expect([status, JSON.parse(text).error.grpc_code]).toEqual([401, 16])
})

it('a request for the events of an account opens one vault without a credential, and all with one', async () => {
  expect((await ask('/v1/audit/events?filterOps.accountID=a', {})).status).toBe(401)
  expect(opened).toEqual(['v1'])
  const headers = { authorization: `Bearer ${OWNER_CREDENTIAL}` }
  expect((await ask('/v1/audit/events?filterOps.accountID=a', headers)).status).toBe(200)
  expect(opened).toEqual(['v1', 'v1', 'v2'])
})

it('a request that fails after its caller was found in one vault of an account is recorded there', async () => {
  const [first, second] = vaults
  if (first === undefined || second === undefined) throw new Error('There are two vaults.')
  const headers = { authorization: `Bearer ${OWNER_CREDENTIAL}` }
  const open = { authenticate: OWNER_OF_V1, vaults }
  const { status } = await ask('/v1/audit/events?limit=x', headers, open)
  expect(status).toBe(400)
  expect((await eventsOf(first)).at(-1)).toMatchObject({ code: 400, context: { actor: 'owner@acme.example' } })
  expect(await eventsOf(second)).toEqual([])
})

it.each([
  ['a sort', '/v1/audit/events?filterOps.accountID=v1&sortOps.orderBy=x', /^List events failed\. sortOps\.orderBy must be/],
  ['an order', '/v1/vaults/v1/people?order_by=x', /^Get failed\. order_by must be/],
  ['a token', `/v1/vaults/v1/tokens/${'x'.repeat(3000)}`, /^Get token failed\. tokens\[0\] is longer/],
])('the message about %s names the members that the client sent, after one verb', async (_, target, message) => {
  const { text } = await ask(target, { authorization: `Bearer ${OWNER_CREDENTIAL}` })
  expect(JSON.parse(text).error.message).toMatch(message)
})

it('a part of an upload that is missing is named as the client sends it', async () => {
  const files = await serveFiles(memoryEngine())
  const body =
    '--X\r\nContent-Disposition: form-data; name="tableName"\r\n\r\npeople\r\n--X\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--X--\r\n'
  const headers = { 'content-type': 'multipart/form-data; boundary=X' }
  const { json } = await files.ask('POST', '/v2/vaults/v1/files/upload', { body, headers })
  expect(json.error.message).toBe('Upload failed. columnName is required.')
  await files.close()
})
