/** The handler in each framework, over real sockets: at the root and under a path, with the same answers everywhere. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createHandler, type Handler } from '../../../src/http/index.ts'
import type { Vault } from '../../../src/index.ts'
import { type AskOptions, ask } from '../../support/http/ask.ts'
import { MOUNTS, type Mounted } from '../../support/http/mounts.ts'
import { lastResponse, openRaw } from '../../support/http/raw-connection.ts'
import { testCredentials } from '../../support/http/serve-vault.ts'
import { memoryEngine } from '../../support/storages/engines.ts'
import { openPeople } from '../../support/vaults/test-vault.ts'

const CASES = MOUNTS.flatMap((mount) =>
  ['', '/vault'].map((path) => ({ ...mount, path, where: path === '' ? 'the root' : path })),
)

describe.each(CASES)('$name at $where', ({ start, path, name, hasParsedJson }) => {
  const PEOPLE = `${path}/v1/vaults/v1/people`
  let vault: Vault
  let handler: Handler
  let mounted: Mounted
  beforeAll(async () => {
    vault = await openPeople(memoryEngine().fresh().open())
    handler = createHandler({ vaults: vault, authenticate: testCredentials, baseUrl: path, limits: { maxBodyBytes: 300_000 } })
    mounted = await start(handler, path)
  })
  afterAll(async () => {
    await mounted.close()
    await handler.close()
    await vault.close()
  })
  const send = (method: string, target: string, options?: AskOptions) => ask(mounted.port, [method, target], options)

  it('stores, returns and deletes a record', async () => {
    const inserted = await send('POST', PEOPLE, { body: { records: [{ fields: { name: 'Ann', notes: { a: 'ü&=+%' } } }] } })
    expect(inserted.status, inserted.text).toBe(200)
    const id = inserted.json.records[0].svc_id
    const read = await send('GET', `${PEOPLE}/${id}?redaction=PLAIN_TEXT&fields=name&fields=notes`)
    expect(read.json).toEqual({ fields: { svc_id: id, name: 'Ann', notes: { a: 'ü&=+%' } } })
    expect((await send('PUT', `${PEOPLE}/${id}`, { body: { record: { fields: { name: 'Bo' } } } })).status).toBe(200)
    expect((await send('DELETE', `${PEOPLE}/${id}`)).json).toEqual({ svc_id: id, deleted: true })
  })

  it('reads {} that clients send with GET and DELETE, and a body without a length', async () => {
    expect((await send('GET', PEOPLE, { body: {} })).status).toBe(200)
    const chunked = { 'transfer-encoding': 'chunked', 'content-type': 'application/json' }
    const body = JSON.stringify({ records: [{ fields: { name: 'Cy' } }] })
    const { status, text } = await send('POST', PEOPLE, { body, headers: { ...chunked, 'content-length': [] } })
    expect(status, text).toBe(200)
  })

  it('keeps encoded slashes and double slashes as they are', async () => {
    expect((await send('GET', `${PEOPLE}/a%2Fb`)).json.error).toMatchObject({ http_code: 404 })
    expect((await send('GET', `${path}/v1/vaults/v1%2Fx/people`)).status).toBe(401)
    expect((await send('GET', `${path}/v1//vaults/v1/people`)).json.error).toMatchObject({ grpc_code: 5 })
  })

  it('answers HEAD as GET without the body, and a path with a slash behind it as the one without', async () => {
    const shown = await send('GET', PEOPLE)
    const head = await send('HEAD', PEOPLE)
    expect([head.status, head.text]).toEqual([200, ''])
    // A framework can answer HEAD by the response to GET, and keep its length to itself.
    if (head.headers['content-length'] !== undefined) expect(head.headers['content-length']).toBe(shown.headers['content-length'])
    for (const slash of ['/', '/?limit=1', '/?']) expect((await send('GET', `${PEOPLE}${slash}`)).status, slash).toBe(200)
    expect((await send('HEAD', `${PEOPLE}/none`)).status).toBe(404)
    expect((await send('GET', `${PEOPLE}//`)).status).toBe(404)
  })

  it.each(['OPTIONS', 'TRACE', 'PATCH'])('answers %s, which no route has, without an effect', async (method) => {
    const { status, headers, text } = await send(method, PEOPLE)
    // A framework can answer a method that it does not pass on.
    if (headers['x-request-id'] === undefined) expect([404, 405, 501, 500, 200], `${name} ${text}`).toContain(status)
    else expect(status).toBe(400)
  })

  it('answers a missing credential and an unknown route with the envelope, its id and the security headers', async () => {
    for (const [answer, status] of [
      [await send('GET', PEOPLE, { credential: null }), 401],
      [await send('GET', `${path}/v1/none`), 404],
    ] as const) {
      expect(answer.status).toBe(status)
      expect(answer.json.error).toMatchObject({ http_code: status })
      expect(answer.headers['x-request-id']).toMatch(/^[\da-f-]{36}$/)
      expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
    }
  })

  it.skipIf(hasParsedJson === true)('answers a body over the limit', async () => {
    const body = { records: [{ fields: { name: 'x'.repeat(300_000) } }] }
    expect((await send('POST', PEOPLE, { body })).json?.error, name).toMatchObject({ http_code: 400, grpc_code: 8 })
  })

  it('serves requests of one connection one after the other', async () => {
    const connection = await openRaw(mounted.port)
    for (let number = 0; number < 3; number++) {
      connection.send(`GET ${PEOPLE}?n=${number} HTTP/1.1\r\nHost: a\r\n\r\n`)
      const seen = new RegExp(`(?:HTTP/1\\.1 401[^]*){${number + 1}}\\}\\}$`)
      expect(lastResponse(await connection.until(seen)).status).toBe(401)
    }
    connection.reset()
  })

  it('refuses a transfer encoding that no one decodes', async () => {
    const connection = await openRaw(mounted.port)
    connection.send(`POST ${PEOPLE} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`)
    const { status, body } = lastResponse(await connection.until('}}'))
    expect([status, body], name).toEqual([400, expect.stringContaining('The transfer encoding is not')])
    connection.reset()
  })

  it('answers what is no HTTP', async () => {
    const connection = await openRaw(mounted.port)
    connection.send('nonsense\r\n\r\n')
    const { status, body } = lastResponse(await connection.untilEnd())
    expect([status, JSON.parse(body).error.grpc_code]).toEqual([400, 3])
  })
})
