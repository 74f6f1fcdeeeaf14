/** The server of one process: limits, pages of other origins, time limits, metrics and the log, over real sockets. */
import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createApiKey } from '../../../src/http/index.ts'
import { createCanaries } from '../../support/leaks/canaries.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'
import { openClient } from '../../support/serve/one-connection.ts'
import { openServer } from '../../support/serve/open-server.ts'
import { CUSTOMERS } from '../../support/serve/start-server.ts'

/** Sends a request with a credential from an address of this machine, and returns the status and the headers of its answer. */
function askFrom(port: number, localAddress: string, credential: string | undefined) {
  const headers = credential === undefined ? {} : { authorization: `Bearer ${credential}` }
  return new Promise<{ status: number; wait: string | undefined; text: string }>((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, localAddress, path: CUSTOMERS, headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, wait: response.headers['retry-after'], text }))
    })
    outgoing.on('error', reject).end()
  })
}

describe('refused credentials', () => {
  it('make their source wait, with an envelope and Retry-After, and no other source', async () => {
    const { port, key, metrics, lines } = await openServer({ server: { limits: { failuresPerSource: 3 } } })
    for (const credential of ['wrong', undefined, 'sr_wrong'])
      expect((await askFrom(port, '127.0.0.2', credential)).status).toBe(401)
    const limited = await askFrom(port, '127.0.0.2', key.apiKey)
    expect(limited.status).toBe(429)
    expect(Number(limited.wait)).toBeGreaterThan(50)
    expect(JSON.parse(limited.text).error).toMatchObject({ http_code: 429, http_status: 'Too Many Requests', grpc_code: 8 })
    expect((await askFrom(port, '127.0.0.3', key.apiKey)).status).toBe(200)
    expect(await metrics()).toContain('strongroom_http_limited_requests_total{by="source"} 1')
    expect(lines.filter((line) => line.includes('too many refused credentials'))).toHaveLength(1)
  })

  it('make a key id wait wherever it comes from, but not a key in use', async () => {
    const { port, key, ask, vault, shared } = await openServer({ server: { limits: { failuresPerKey: 3 } } })
    const unknown = key.apiKey.replace(key.keyId, '6f1d7a44-0f5b-4c6e-9a3b-2f8f0c1d9e70')
    for (let source = 2; source < 5; source++) expect((await askFrom(port, `127.0.0.${source}`, unknown)).status).toBe(401)
    expect((await askFrom(port, '127.0.0.9', unknown)).status).toBe(429)
    expect((await ask('GET', CUSTOMERS)).status).toBe(200)
    const wrong = `${key.apiKey.slice(0, -1)}${key.apiKey.endsWith('a') ? 'b' : 'a'}`
    for (let source = 2; source < 7; source++) expect((await askFrom(port, `127.0.0.${source}`, wrong)).status).toBe(401)
    expect((await ask('GET', CUSTOMERS)).status).toBe(200)
    // Only the refusals that were looked at have an event.
    const events = await vault
      .as({ actor: 'a', actorType: 'USER', roles: ['VAULT_OWNER'] })
      .listEvents({ filterOps: { accountID: 'main' } })
    expect(events.events.filter(({ request: { actionType } }) => actionType === 'REQUEST')).toHaveLength(8)
    expect(shared.filter((learned) => 'accepted' in learned)).toEqual([{ accepted: key.keyId }])
    expect(JSON.stringify(shared)).not.toContain(key.apiKey.slice(40))
  })

  it('are not those of a caller without a grant', async () => {
    const { ask, vault } = await openServer({ server: { limits: { failuresPerSource: 2 } } })
    const owner = vault.as({ actor: 'a', actorType: 'USER', roles: ['VAULT_OWNER'] })
    const { apiKey } = await createApiKey(owner, { name: 'none', roles: ['of no statement'] })
    for (let count = 0; count < 5; count++) expect((await ask('GET', CUSTOMERS, { credential: apiKey })).status).toBe(401)
    expect((await ask('GET', CUSTOMERS)).status).toBe(200)
  })

  it('are counted by the address that a trusted proxy names, and by no other word', async () => {
    const { ask } = await openServer({
      server: { limits: { failuresPerSource: 2 } },
      http: { trustedProxies: ['loopback'] },
    })
    const from = (forwarded: string, credential: string) =>
      ask('GET', CUSTOMERS, { credential, headers: { 'x-forwarded-for': forwarded } }).then(({ status }) => status)
    expect([await from('192.0.2.1', 'x'), await from('192.0.2.1', 'y'), await from('192.0.2.1', 'z')]).toEqual([401, 401, 429])
    expect(await from('192.0.2.1, 192.0.2.2', 'x')).toBe(401)
  })

  it('that another worker refused count here', async () => {
    const { port, key, server } = await openServer({ server: { limits: { failuresPerSource: 2 } } })
    const refused = { source: '127.0.0.2', key: undefined }
    server.learn({ refused })
    server.learn({ refused })
    expect((await askFrom(port, '127.0.0.2', key.apiKey)).status).toBe(429)
  })
})

describe.each([
  ['that it accepts', false],
  ['that another process accepted', true],
])('connections %s', (_, takes) => {
  it('have a limit, beyond which they are dropped', async () => {
    const { port, metrics } = await openServer({ takes, server: { limits: { connections: 3 } } })
    const clients = []
    for (let count = 0; count < 3; count++) clients.push(await openClient(port))
    const dropped = await openClient(port)
    expect(await dropped.untilEnd()).toBe('')
    expect(await metrics()).toMatch(
      /strongroom_http_connections 3\n[\s\S]*strongroom_http_dropped_connections_total 1\n|dropped_connections_total 1\n[\s\S]*strongroom_http_connections 3\n/,
    )
    clients[0]?.end()
    await clients[0]?.untilEnd()
    const next = await openClient(port)
    next.send('GET /openapi.json HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n')
    expect(await next.untilEnd()).toContain('200 OK')
  })

  it('end with an envelope if their headers do not arrive in time, or cannot be parsed', async () => {
    const { port } = await openServer({ takes, server: { limits: { headersMs: 300 } } })
    const slow = await openClient(port)
    slow.send('GET / HTTP/1.1\r\nhost: a\r\n')
    const bad = await openClient(port)
    bad.send('NOT HTTP\r\n\r\n')
    for (const answer of [await slow.untilEnd(), await bad.untilEnd()])
      expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*"grpc_code":3/)
  })

  it('serve several requests', async () => {
    const { port } = await openServer({ takes })
    const client = await openClient(port)
    client.send(
      `${'GET /nothing HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(2)}GET /nothing HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`,
    )
    expect((await client.untilEnd()).split('HTTP/1.1 404').length).toBe(4)
  })
})

describe('pages of other origins', () => {
  const preflight = (origin: string) => ({
    credential: null,
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
  })

  it('are answered before and with a request if their origin is allowed', async () => {
    const { ask } = await openServer({ server: { origins: ['https://app.example'] } })
    const asked = await ask('OPTIONS', CUSTOMERS, preflight('https://app.example'))
    expect(asked.status).toBe(204)
    expect(asked.headers).toMatchObject({
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
      'access-control-allow-headers': expect.stringContaining('authorization'),
      vary: 'origin',
    })
    const answer = await ask('GET', CUSTOMERS, { headers: { origin: 'https://app.example' } })
    expect(answer.status).toBe(200)
    expect(answer.headers['access-control-allow-origin']).toBe('https://app.example')
    expect(answer.headers['access-control-expose-headers']).toContain('x-request-id')
  })

  it('get no header otherwise, and never one for cookies', async () => {
    const { ask } = await openServer({ server: { origins: ['https://app.example'] } })
    for (const origin of ['https://evil.example', 'https://app.example.evil.example', 'null', 'http://app.example']) {
      const asked = await ask('OPTIONS', CUSTOMERS, preflight(origin))
      const answer = await ask('GET', CUSTOMERS, { headers: { origin } })
      for (const { headers } of [asked, answer])
        expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    }
    const allowed = await ask('OPTIONS', CUSTOMERS, preflight('https://app.example'))
    expect(allowed.headers['access-control-allow-credentials']).toBe(undefined)
  })

  it('get none at all without the option', async () => {
    const { ask } = await openServer()
    const { headers, status } = await ask('OPTIONS', CUSTOMERS, preflight('https://app.example'))
    expect([status, headers['access-control-allow-origin'], headers.vary]).toEqual([400, undefined, undefined])
  })
})

describe('metrics and log', () => {
  it('have no value, token, id, key or credential of what went through, in any encoding', async () => {
    const canaries = createCanaries(seededRandom('metrics and log'))
    const { ask, key, metrics, lines, port } = await openServer({ server: { log: { requests: true } } })
    const { value: name } = canaries.make('STRING')
    const { value: email } = canaries.make('EMAIL')
    const { value: credential } = canaries.make('STRING')
    const inserted = await ask('POST', CUSTOMERS, { body: { records: [{ fields: { name, email } }], tokenization: true } })
    const [{ svc_id: id, tokens }] = inserted.json.records
    expect((await ask('GET', `${CUSTOMERS}/${id}`)).status).toBe(200)
    await ask('POST', CUSTOMERS, { body: { records: [{ fields: { name, email } }] } })
    await ask('GET', `${CUSTOMERS}?redaction=${encodeURIComponent(String(name))}`)
    await ask('GET', `/v1/vaults/main/${encodeURIComponent(String(name))}`)
    await ask('POST', '/v1/vaults/main/query', { body: { query: `SELECT name FROM customers WHERE email = '${email}'` } })
    await ask('GET', CUSTOMERS, {
      credential: encodeURIComponent(String(credential)),
      headers: { 'x-request-id': encodeURIComponent(String(email)) },
    })
    await askFrom(port, '127.0.0.5', undefined)
    const written = `${lines.join('')}${await metrics()}`
    expect(canaries.findIn(written)).toEqual(new Set())
    for (const secret of [id, tokens.name, tokens.email, key.apiKey, key.keyId]) expect(written).not.toContain(secret)
    // What is there: the probe itself would find these.
    expect(written).toContain('strongroom_rows_written_total{operation="insert",table="customers"} 1')
    expect(canaries.findIn(`${written}${email}`).size).toBe(1)
    expect(lines.filter((line) => line.includes('"msg":"request"'))).toHaveLength(8)
    expect(lines.some((line) => line.includes('credential refused'))).toBe(true)
  })

  it('log refusals always, and requests only by option', async () => {
    const { ask, lines, vault } = await openServer()
    const owner = vault.as({ actor: 'a', actorType: 'USER', roles: ['VAULT_OWNER'] })
    const { apiKey } = await createApiKey(owner, { name: 'support', roles: ['support'] })
    expect((await ask('GET', CUSTOMERS)).status).toBe(200)
    expect(lines).toEqual([])
    await ask('POST', CUSTOMERS, { credential: apiKey, body: { records: [{ fields: { name: 'Ann' } }] } })
    await ask('GET', CUSTOMERS, { credential: 'x' })
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual(['operation refused', 'credential refused'])
  })

  it('keep methods that clients make up apart from labels', async () => {
    const { ask, metrics } = await openServer()
    await ask('PROPFIND', '/nothing')
    expect(await metrics()).toContain('method="other",status="404"')
  })
})
