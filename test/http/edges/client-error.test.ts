/** Requests that are no HTTP: answered with the envelope, over real sockets. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OWNER_CREDENTIAL } from '../../support/http/ask.ts'
import { lastResponse, openRaw } from '../../support/http/raw-connection.ts'
import { type ServedVault, serveVault } from '../../support/http/serve-vault.ts'
import { memoryEngine } from '../../support/storages/engines.ts'

const LIST = `GET /v1/vaults/v1/people HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${OWNER_CREDENTIAL}\r\n`
const POST = `POST /v1/vaults/v1/people HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${OWNER_CREDENTIAL}\r\nContent-Type: application/json\r\n`

const MALFORMED: readonly (readonly [string, string, number])[] = [
  ['a bad chunk', `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 3],
  ['both Content-Length and Transfer-Encoding', `${POST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 3],
  ['two different Content-Lengths', `${POST}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd`, 3],
  ['a Content-Length that is no number', `${POST}Content-Length: x\r\n\r\n`, 3],
  ['headers over the limit', `${LIST}X-Long: ${'x'.repeat(70_000)}\r\n\r\n`, 8],
  ['a target over the limit', `GET /${'x'.repeat(70_000)} HTTP/1.1\r\nHost: a\r\n\r\n`, 8],
  ['chunk extensions over the limit', `${POST}Transfer-Encoding: chunked\r\n\r\n2;${'x'.repeat(70_000)}\r\nab\r\n`, 8],
  ['an unknown method', 'BREW / HTTP/1.1\r\nHost: a\r\n\r\n', 3],
  ['a bad version', 'GET / HTTP/9.9\r\nHost: a\r\n\r\n', 3],
  ['a line break inside a header', `${LIST}X-A: b\rc\r\n\r\n`, 3],
  ['a space before a colon', `${LIST}X-A : b\r\n\r\n`, 3],
  ['TLS on a port without it', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003', 3],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 3],
  ['what is no request at all', 'hello\r\n\r\n', 3],
  ['a request to open a tunnel', 'CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n', 12],
]

describe('a request that is not well-formed', () => {
  let served: ServedVault
  beforeAll(async () => {
    served = await serveVault({ storage: memoryEngine().fresh().open() })
  })
  afterAll(() => served.close())

  it.each(MALFORMED)('%s gets the envelope, its id and the security headers, and the connection ends', async (_, text, code) => {
    const connection = await openRaw(served.port)
    connection.send(Buffer.from(text, 'latin1'))
    const { status, headers, body } = lastResponse(await connection.untilEnd())
    expect(status).toBe(400)
    expect(headers['x-request-id']).toMatch(/^[\da-f-]{36}$/)
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', connection: 'close' })
    expect(Number(headers['content-length'])).toBe(Buffer.byteLength(body))
    const { error } = JSON.parse(body)
    expect(error).toMatchObject({ grpc_code: code, http_code: 400, http_status: 'Bad Request' })
    expect(error.message).toMatch(/^Request failed\. /)
  })

  it('without a Host gets the envelope too, and an unknown Expect is ignored', async () => {
    const connection = await openRaw(served.port)
    connection.send(Buffer.from('GET /v1/vaults/v1/people HTTP/1.1\r\nConnection: close\r\n\r\n'))
    const { status, body } = lastResponse(await connection.untilEnd())
    expect([status, JSON.parse(body).error.message]).toEqual([400, 'Request failed. The Host header is missing. Send it.'])
    const expecting = await openRaw(served.port)
    expecting.send(Buffer.from(`${LIST}Expect: wonders\r\nConnection: close\r\n\r\n`))
    expect(lastResponse(await expecting.untilEnd()).status).toBe(200)
  })

  it('is answered once, however much follows', async () => {
    const connection = await openRaw(served.port)
    for (let packet = 0; packet < 50; packet++) {
      connection.send('nonsense\r\n'.repeat(1000))
      await new Promise((resolve) => setImmediate(resolve))
    }
    const received = await connection.untilEnd()
    expect(received.split('HTTP/1.1 400')).toHaveLength(2)
    expect(() => JSON.parse(lastResponse(received).body)).not.toThrow()
  })

  it('is answered after the response of the request before it', async () => {
    const connection = await openRaw(served.port)
    connection.send(`${LIST}\r\nnonsense\r\n\r\n`)
    const received = await connection.untilEnd()
    expect([...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '400'])
    expect(received.indexOf('"records"')).toBeLessThan(received.indexOf('"error"'))
  })

  it('has no effect on other connections', async () => {
    expect((await served.ask('GET', '/v1/vaults/v1/people')).status).toBe(200)
  })
})
