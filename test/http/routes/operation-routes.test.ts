/** Routes of operations: any operation by its name with the texts of the session, files as bodies, and idempotency keys on every route that writes. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { column, createVault, defineSchema, type Vault } from '../../../src/index.ts'
import { eventsOf } from '../../support/audit/audited-clients.ts'
import { CLERK_CREDENTIAL } from '../../support/http/ask.ts'
import { multipart } from '../../support/http/multipart.ts'
import { serveVault } from '../../support/http/serve-vault.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { TEST_SECRET } from '../../support/vaults/test-vault.ts'

const schema = defineSchema({
  people: {
    name: column.string({ redaction: 'PLAIN_TEXT', token: 'random' }),
    email: column.string({ unique: true, redaction: 'PLAIN_TEXT' }),
    scan: column.file({ redaction: 'PLAIN_TEXT' }),
  },
})
const V = '/v3/vaults/v1'

onEachStorage('routes of operations', (engine) => {
  async function serve() {
    const keys = localKeys({ key: TEST_SECRET })
    const vault = (await createVault({ id: 'v1', schema, storage: engine.fresh().open(), keys })) as unknown as Vault
    const served = await serveVault({ vault })
    const insert = (body: object, headers = {}) => served.ask('POST', `${V}/insert`, { body, headers })
    return { served, vault, insert }
  }

  it('have the input and the result of the session', async () => {
    const { served, insert } = await serve()
    const { json, status } = await insert({ table: 'people', records: [{ fields: { name: 'Ann' } }] })
    expect(status).toBe(200)
    const read = await served.ask('POST', `${V}/getOne`, { body: { table: 'people', id: json.records[0].id } })
    expect(read.json).toEqual({ id: json.records[0].id, fields: { name: 'Ann', email: null, scan: null }, levels: {} })
    // An operation without input needs no body.
    expect((await served.ask('POST', `${V}/listCredentials`)).json).toEqual({ credentials: [] })
    // The page sizes of the handler do not apply.
    expect((await served.ask('POST', `${V}/get`, { body: { table: 'people', options: { limit: 500 } } })).status).toBe(200)
    await served.close()
  })

  it('have errors in the words of the operation, with its code', async () => {
    const { served, vault } = await serve()
    const refused = await served.ask('POST', `${V}/updateOne`, { body: { table: 'people', id: 'x', fields: { name: 'y' } } })
    expect(refused).toMatchObject({
      status: 404,
      json: { error: { code: 'not_found', message: expect.stringMatching(/^Update failed\. No record/) } },
    })
    const forbidden = await served.ask('POST', `${V}/get`, { body: { table: 'people' }, credential: CLERK_CREDENTIAL })
    expect(forbidden).toMatchObject({ status: 401, json: { error: { code: 'forbidden', grpc_code: 7 } } })
    const unknown = await served.ask('POST', `${V}/get`, { credential: 'unknown' })
    expect(unknown).toMatchObject({
      status: 401,
      json: { error: { code: 'unauthenticated', message: expect.stringMatching(/^Request failed\./) } },
    })
    for (const name of ['nothing', 'openFile', 'constructor', '__proto__'])
      expect(await served.ask('POST', `${V}/${name}`, { body: {} })).toMatchObject({
        status: 404,
        json: { error: { code: 'not_found' } },
      })
    for (const [body, query] of [
      ['{', ''],
      ['{"table":"people","options":5}', ''],
      ['{"table":"people"}', '?limit=5'],
    ] as const) {
      const answer = await served.ask('POST', `${V}/query${query}`, { body, headers: { 'content-type': 'application/json' } })
      expect(answer).toMatchObject({ status: 400, json: { error: { code: 'invalid_request' } } })
    }
    // What was refused before an operation began is in the trail as well.
    const messages = (await eventsOf(vault)).map(({ message }) => message)
    expect(messages.filter((message) => message.includes('This operation does not exist'))).toHaveLength(4)
    await served.close()
  })

  it('answer an owner and an auditor about the whole vault, and the check of the trail in lines', async () => {
    const { served, insert } = await serve()
    await insert({ table: 'people', records: [{ fields: { name: 'Ann' } }] })
    const keys = await served.ask('POST', `${V}/describeKeys`, { body: {} })
    expect(keys).toMatchObject({ status: 200, json: { keys: [{ version: 1 }, { version: 2, state: 'active' }] } })
    const refused = await served.ask('POST', `${V}/describeKeys`, { credential: CLERK_CREDENTIAL })
    expect(refused).toMatchObject({ status: 401, json: { error: { code: 'forbidden' } } })
    expect((await served.ask('POST', `${V}/health`, { credential: CLERK_CREDENTIAL })).json).toMatchObject({ ok: true })
    const checked = await served.ask('POST', `${V}/verifyAudit`)
    expect(checked.headers['content-type']).toMatch(/^application\/x-ndjson/)
    const lines = checked.text.split('\n').filter((line) => line !== '')
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ result: { ok: true } })
    expect((await served.ask('POST', `${V}/verifyAudit`, { credential: CLERK_CREDENTIAL })).status).toBe(401)
    await served.close()
  })

  it('have the errors of the items of a batch, and so has the route of batches', async () => {
    const { served } = await serve()
    const items = [
      { get: 'people', id: 'x' },
      { insert: 'people', fields: { name: 'Ann' } },
    ]
    const own = await served.ask('POST', `${V}/batch`, { body: { items, options: { continueOnError: true } } })
    expect(own.json.responses).toMatchObject([
      { ok: false, error: { code: 'not_found', http_code: 404, message: expect.stringMatching(/^Get failed\. No record/) } },
      { ok: true, value: { id: expect.any(String) } },
    ])
    const records = [{ method: 'GET', tableName: 'people', ID: 'x' }]
    const other = await served.ask('POST', '/v1/vaults/v1', { body: { records, continueOnError: true } })
    expect(other.json.responses).toEqual([{ Body: { error: expect.any(String), code: 'not_found' }, Status: 404 }])
    await served.close()
  })

  it('take and return files as bodies', async () => {
    const { served } = await serve()
    const body = Buffer.from('0123456789')
    const headers = { 'content-disposition': `attachment; filename*=UTF-8''%C3%A5.txt` }
    const uploaded = await served.ask('POST', `${V}/uploadFile?table=people&column=scan&returnFileMetadata=true`, {
      body,
      headers,
    })
    expect(uploaded.json).toMatchObject({ id: expect.any(String), fileMetadata: { scan: { fileName: 'å.txt', fileSizeKB: 1 } } })
    const path = `${V}/openFile?table=people&column=scan&id=${uploaded.json.id}`
    const whole = await served.ask('GET', path)
    expect(whole).toMatchObject({
      status: 200,
      text: '0123456789',
      headers: { 'content-length': '10', 'accept-ranges': 'bytes' },
    })
    const part = await served.ask('GET', path, { headers: { range: 'bytes=2-4' } })
    expect(part).toMatchObject({ status: 206, text: '234', headers: { 'content-range': 'bytes 2-4/10' } })
    for (const range of ['bytes=10-', 'bytes=4-2', 'bytes=0-1,3-4', 'lines=1-2'])
      expect(await served.ask('GET', path, { headers: { range } }), range).toMatchObject({
        status: 400,
        json: { error: { code: 'out_of_range' } },
      })
    expect(await served.ask('GET', path, { credential: CLERK_CREDENTIAL })).toMatchObject({ status: 401 })
    expect(await served.ask('GET', `${path}&more=1`)).toMatchObject({ status: 400 })
    expect(await served.ask('HEAD', path)).toMatchObject({ status: 200, text: '', headers: { 'content-length': '10' } })
    await served.close()
  })

  it('write once for an Idempotency-Key, and so do all routes that write', async () => {
    const { served, insert } = await serve()
    const key = { 'idempotency-key': 'key-1' }
    const body = { table: 'people', records: [{ fields: { name: 'Ann' } }] }
    const first = await insert(body, key)
    expect((await insert(body, key)).json).toEqual(first.json)
    expect(await insert({ ...body, options: {} }, key)).toMatchObject({ status: 422, json: { error: { code: 'conflict' } } })
    expect(await insert(body, { 'idempotency-key': 'a b' })).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_request' } },
    })
    const [id] = first.json.records.map((record: { id: string }) => record.id)
    const writes = [
      ['POST', '/v1/vaults/v1/people', { records: [{ fields: { name: 'Bo' } }] }],
      ['PUT', `/v1/vaults/v1/people/${id}`, { record: { fields: { name: 'Cy' } } }],
      ['POST', '/v1/vaults/v1', { records: [{ method: 'POST', tableName: 'people', fields: { name: 'Di' } }] }],
      ['DELETE', `/v1/vaults/v1/people/${id}`, undefined],
    ] as const
    for (const [number, [method, path, content]] of writes.entries()) {
      const options = { headers: { 'idempotency-key': `other-${number}` }, ...(content && { body: content }) }
      const answer = await served.ask(method, path, options)
      expect(answer.status, `${method} ${path}`).toBe(200)
      expect((await served.ask(method, path, options)).json).toEqual(answer.json)
    }
    // A repeat of an upload is answered whatever its content is.
    const upload = (content: string, to = '') =>
      served.ask('POST', `${V}/uploadFile?table=people&column=scan${to}`, {
        body: Buffer.from(content),
        headers: { 'idempotency-key': 'file' },
      })
    const stored = await upload('one')
    expect((await upload('two')).json).toEqual(stored.json)
    const opened = await served.ask('GET', `${V}/openFile?table=people&column=scan&id=${stored.json.id}`)
    expect(opened.text).toBe('one')
    // The id can come after the content in a multipart body: then the key cannot be compared with it.
    const parts = multipart(
      { key: 'tableName', content: 'people' },
      { key: 'columnName', content: 'scan' },
      { key: 'file', content: 'x', fileName: 'x' },
    )
    const asked = { ...parts, headers: { ...parts.headers, 'idempotency-key': 'parts' } }
    expect(await served.ask('POST', '/v2/vaults/v1/files/upload', asked)).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_request' } },
    })
    const { json } = await served.ask('POST', `${V}/query`, { body: { query: 'SELECT COUNT(*) FROM people' } })
    expect(Object.values(json.records[0].fields)).toEqual([3])
    await served.close()
  })
})
