/** What existing clients of the interface send and read, each over a real socket. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { column } from '../../src/index.ts'
import { countedBlobs } from '../support/files/open-file-vault.ts'
import { multipart } from '../support/http/multipart.ts'
import { knownCallers, type ServedRouter, serveRouter } from '../support/http/serve-router.ts'
import type { Wire, WireRequest } from '../support/http/wire.ts'
import { type LooseStored, type LooseVault, openLoose } from '../support/vaults/open-untyped.ts'
import { OWNER, people } from '../support/vaults/test-vault.ts'

const TABLES = {
  ...people.tables,
  cards: { name: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }) },
  papers: { title: column.string(), scan: column.file() },
}
const OWNER_HEADERS = { authorization: 'Bearer owner', 'content-type': 'application/json' }
const UNKNOWN_ID = '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11'

let opened: LooseVault
let served: ServedRouter
let wire: Wire
let ann: LooseStored
let bo: LooseStored

beforeAll(async () => {
  opened = await openLoose(memoryStorage(), TABLES, { blobs: countedBlobs() })
  served = await serveRouter({ vaults: opened.vault, authenticate: knownCallers({ owner: OWNER }) })
  wire = served.wire()
  const fields = { name: 'Ann', email: 'ann@acme.example', ssn: '123-45-6789', salary: 5, notes: { a: 1 } }
  const { records } = await opened.session.insert('people', [{ fields }, { fields: { name: 'Bo' } }], { tokenization: true })
  ann = recordAt(records, 0)
  bo = recordAt(records, 1)
})

afterAll(async () => {
  await served.close()
  await opened.vault.close()
})

function recordAt(records: readonly LooseStored[], index: number): LooseStored {
  const record = records[index]
  if (record === undefined) throw new Error('the record was not stored')
  return record
}

/** Sends a request as the owner. Returns status and body. */
async function ask(method: string, target: string, more: Partial<WireRequest> & { readonly json?: unknown } = {}) {
  const { json: given, ...request } = more
  const body = given === undefined ? {} : { body: JSON.stringify(given) }
  const { status, json } = await wire.send({ method, target, headers: OWNER_HEADERS, ...body, ...request })
  return { status, json }
}

const V = '/v1/vaults/v1'

it('reads *REDACTED* in place of a redacted value of any type, and null as null', async () => {
  const { json } = await ask(
    'GET',
    `${V}/people/${ann.id}?redaction=REDACTED&fields=salary&fields=notes&fields=name&fields=score`,
  )
  const fields = { svc_id: ann.id, salary: '*REDACTED*', notes: '*REDACTED*', name: '*REDACTED*', score: null }
  expect(json).toEqual({ fields })
})

it('reads a request id of 36 characters, and its own back', async () => {
  const { headers } = await wire.send({ method: 'GET', target: `${V}/people`, headers: OWNER_HEADERS })
  expect(headers.get('x-request-id')).toMatch(/^[\w-]{36}$/)
  const own = await wire.send({ method: 'GET', target: '/nothing', headers: { ...OWNER_HEADERS, 'x-request-id': UNKNOWN_ID } })
  expect(own.headers.get('x-request-id')).toBe(UNKNOWN_ID)
})

it('sends blank members for absent ones', async () => {
  const records = [{ fields: { name: 'Cy' } }]
  expect(await ask('POST', `${V}/people`, { json: { records, upsert: '', vaultID: '' } })).toMatchObject({ status: 200 })
  const page = await ask('GET', `${V}/people?column_name=&column_values=&limit=&offset=&order_by=&redaction=&svc_ids=&fields=`)
  expect(page).toEqual(await ask('GET', `${V}/people`))
  expect(page.status).toBe(200)
  const item = { method: 'POST', tableName: 'people', fields: { name: 'Di' }, ID: '', upsert: '', batchID: '', redaction: '' }
  expect(await ask('POST', V, { json: { records: [item] } })).toMatchObject({ status: 200 })
})

it('sends members of a body that no route knows', async () => {
  const json = { records: [{ fields: { name: 'Ed' }, extra: 1 }], extra: { a: [1] } }
  expect(await ask('POST', `${V}/people`, { json })).toMatchObject({ status: 200 })
  const item = { method: 'GET', tableName: 'people', ID: ann.id, extra: 1 }
  expect(await ask('POST', V, { json: { records: [item], extra: 1 } })).toMatchObject({ status: 200 })
})

it('posts JSON as a form, as curl --data does', async () => {
  const headers = { ...OWNER_HEADERS, 'content-type': 'application/x-www-form-urlencoded' }
  const body = JSON.stringify({ query: 'SELECT name FROM people LIMIT 1' })
  expect(await ask('POST', `${V}/query`, { headers, body })).toEqual({
    status: 200,
    json: { records: [{ fields: { name: 'A**' } }] },
  })
})

it('sends {} with GET and DELETE', async () => {
  expect(await ask('GET', `${V}/people/${ann.id}`, { json: {} })).toMatchObject({ status: 200 })
  expect(await ask('GET', `${V}/people`, { json: {} })).toMatchObject({ status: 200 })
  const { records } = await opened.session.insert('people', [{ fields: { name: 'Fy' } }])
  const { id } = recordAt(records, 0)
  expect(await ask('DELETE', `${V}/people/${id}`, { json: {} })).toEqual({ status: 200, json: { svc_id: id, deleted: true } })
})

it('repeats members of a query for a list, in order', async () => {
  const { json } = await ask('GET', `${V}/people?svc_ids=${bo.id}&svc_ids=${ann.id}&fields=email&fields=active`)
  const fields = [
    { svc_id: bo.id, email: null, active: null },
    { svc_id: ann.id, email: 'ann@acme.example', active: null },
  ]
  expect(json).toEqual({ records: fields.map((one) => ({ fields: one })) })
})

it('asks for pages of 1 to 25', async () => {
  expect(await ask('GET', `${V}/people?limit=25`)).toMatchObject({ status: 200 })
  expect(await ask('GET', `${V}/people?limit=26`)).toMatchObject({ status: 400, json: { error: { grpc_code: 11 } } })
})

it('reads the token view: id and tokens in fields, and the tokens again without the id', async () => {
  const { json } = await ask('GET', `${V}/people/${ann.id}?tokenization=true`)
  expect(json).toEqual({ fields: { svc_id: ann.id, ...ann.tokens }, tokens: ann.tokens })
  expect(Object.keys(ann.tokens).sort()).toEqual(['email', 'name', 'ssn'])
})

it('reads the sentence about an id in errors', async () => {
  const { json } = await ask('GET', `${V}/people/${UNKNOWN_ID}`)
  const message = `Get failed. ${UNKNOWN_ID} isn't a valid svc_id ID. Specify a valid svc_id.`
  const details = [{ table: 'people', index: 0, id: UNKNOWN_ID }]
  expect(json).toEqual({ error: { grpc_code: 5, http_code: 404, http_status: 'Not Found', message, details, code: 'not_found' } })
})

it('reads {Body, Status} items of a batch with continueOnError, whose reads have no fields', async () => {
  const records = [
    { method: 'GET', tableName: 'people', ID: bo.id, fields: undefined },
    { method: 'GET', tableName: 'people', ID: UNKNOWN_ID },
  ]
  const { status, json } = await ask('POST', V, { json: { records, continueOnError: true } })
  expect(status).toBe(200)
  expect(json).toMatchObject({
    vaultID: 'v1',
    responses: [
      { Body: { fields: { svc_id: bo.id, name: 'B*' } }, Status: 200 },
      { Body: { error: `Get failed. ${UNKNOWN_ID} isn't a valid svc_id ID. Specify a valid svc_id.` }, Status: 404 },
    ],
  })
})

it('refers to the record of an earlier item of a batch', async () => {
  const records = [
    { method: 'POST', tableName: 'people', fields: { name: 'Gil' } },
    { method: 'PUT', tableName: 'people', ID: '$responses.0.records.0.svc_id', fields: { salary: 7 } },
    { method: 'GET', tableName: 'people', ID: '$responses.0.records.0.svc_id', redaction: 'PLAIN_TEXT' },
  ]
  const { json } = await ask('POST', V, { json: { records } })
  const id = expect.stringMatching(/^[\w-]{36}$/)
  const read = { fields: expect.objectContaining({ name: 'Gil', salary: 7 }) }
  expect(json).toEqual({ vaultID: 'v1', responses: [{ records: [{ svc_id: id }] }, { svc_id: id }, read] })
})

it('supplies tokens in a batch with byot at the top', async () => {
  const records = [
    { method: 'POST', tableName: 'people', fields: { name: 'Hal' }, tokens: { name: 'token of Hal' }, tokenization: true },
  ]
  expect(await ask('POST', V, { json: { records, byot: 'ENABLE' } })).toMatchObject({
    status: 200,
    json: { responses: [{ records: [{ tokens: { name: 'token of Hal' } }] }] },
  })
})

it('supplies tokens in a batch without byot, which the specification does not have there', async () => {
  const item = {
    method: 'POST',
    tableName: 'people',
    fields: { name: 'Lo' },
    tokens: { name: 'token of Lo' },
    tokenization: true,
  }
  const answer = await ask('POST', V, { json: { records: [item, { ...item, fields: { name: 'Mo' }, tokens: {} }] } })
  const made = expect.stringMatching(/^[\w-]{36}$/)
  expect(answer).toMatchObject({
    status: 200,
    json: { responses: [{ records: [{ tokens: { name: 'token of Lo' } }] }, { records: [{ tokens: { name: made } }] }] },
  })
  const taken = { ...item, tokens: { name: 'another token' } }
  expect(await ask('POST', V, { json: { records: [taken], byot: 'DISABLE' } })).toMatchObject({ status: 422 })
})

it('reads what an item of a batch lacks', async () => {
  const records = [
    { method: 'GET', tableName: 'people', ID: ann.id },
    { method: 'GET', ID: ann.id },
  ]
  const message = 'Batch failed. Item 1: Get failed. tableName must be text.'
  expect(await ask('POST', V, { json: { records } })).toMatchObject({ status: 400, json: { error: { grpc_code: 3, message } } })
  const { json } = await ask('POST', V, { json: { records, continueOnError: true } })
  expect(Object(json).responses[1]).toEqual({
    Body: { error: 'Get failed. tableName must be text.', code: 'invalid_request' },
    Status: 400,
  })
})

it('reads that the batchID of an item is no text', async () => {
  const records = [{ method: 'GET', tableName: 'people', ID: ann.id, batchID: 7 }]
  const error = 'Get failed. batchID must be a string.'
  expect(await ask('POST', V, { json: { records } })).toMatchObject({
    status: 400,
    json: { error: { message: `Batch failed. Item 0: ${error}` } },
  })
  const { json } = await ask('POST', V, { json: { records, continueOnError: true } })
  expect(Object(json).responses).toEqual([{ Body: { error, code: 'invalid_request' }, Status: 400 }])
})

it('reads details in every error, also where there is nothing to locate', async () => {
  expect(await ask('GET', '/nothing')).toMatchObject({ status: 404, json: { error: { details: [] } } })
  expect(await ask('POST', `${V}/query`, { json: {} })).toMatchObject({ status: 400, json: { error: { details: [] } } })
})

it('reads an unknown token as an item of its own', async () => {
  const detokenizationParameters = [{ token: 'unknown' }, { token: ann.tokens.email }]
  expect(await ask('POST', `${V}/detokenize`, { json: { detokenizationParameters, continueOnError: true } })).toEqual({
    status: 200,
    json: {
      records: [
        { token: 'unknown', valueType: 'NONE', value: '', error: 'Token Not Found' },
        { token: ann.tokens.email, valueType: 'STRING', value: 'ann@acme.example' },
      ],
    },
  })
  const { status } = await ask('POST', `${V}/detokenize`, { json: { detokenizationParameters } })
  expect(status).toBe(404)
})

it('tokenizes with a blank table beside a group, and a blank group beside a column', async () => {
  const parameters = [{ value: 'x', table: '', column: '', columnGroup: 'kin' }]
  const inGroup = await ask('POST', `${V}/tokenize`, { json: { tokenizationParameters: parameters } })
  expect(inGroup).toMatchObject({ status: 400, json: { error: { message: expect.stringContaining('kin') } } })
  const inColumn = [{ value: 'x', table: 'people', column: 'name', columnGroup: '' }]
  expect(await ask('POST', `${V}/tokenize`, { json: { tokenizationParameters: inColumn } })).toMatchObject({ status: 422 })
})

it('reads records by tokens, with levels in lower case', async () => {
  const json = { tokens: [ann.tokens.ssn, 'unknown'], redaction: 'masked' }
  const answer = await ask('POST', '/v2/vaults/v1/records/get_by_tokens', { json })
  expect(answer).toMatchObject({
    status: 200,
    json: {
      records: [
        { token: ann.tokens.ssn, table_name: 'people', http_code: 200, fields: { svc_id: ann.id, name: 'A**' } },
        { token: 'unknown', error: 'Token Not Found', http_code: 404 },
      ],
    },
  })
})

it('queries with double quotes, with redaction(), and reads bare columns at their own level', async () => {
  const query = `SELECT people.svc_id, email, name, redaction(people.ssn, 'MASKED') FROM people WHERE email = "ann@acme.example"`
  const fields = { svc_id: ann.id, email: 'ann@acme.example', name: 'A**', ssn: '*******6789' }
  expect(await ask('POST', `${V}/query`, { json: { query } })).toEqual({ status: 200, json: { records: [{ fields }] } })
})

it('lists events by the filters of clients, with its own request among them', async () => {
  const target = (more: string) => `/v1/audit/events?filterOps.accountID=v1${more}`
  await ask('GET', `${V}/people/${ann.id}`, { headers: { ...OWNER_HEADERS, 'x-request-id': UNKNOWN_ID } })
  const found = await ask(
    'GET',
    target(`&filterOps.context.requestID=${UNKNOWN_ID}&filterOps.actionType=GET&filterOps.resourceType=RECORD`),
  )
  expect(found.json).toMatchObject({
    event: [{ context: { requestID: UNKNOWN_ID, authMode: 'API_KEY', ipAddress: '127.0.0.1' } }],
  })
  expect(await ask('GET', target('&sortOps.sortBy=timestamp&sortOps.orderBy=ASCENDING&limit=2&offset=1'))).toMatchObject({
    status: 200,
  })
  const { json } = await ask(
    'GET',
    target('&limit=1&filterOps.startTime=2020-01-01T00:00:00Z&filterOps.endTime=2030-01-01T00:00:00Z'),
  )
  const inWindow = target('&filterOps.startTime=2020-01-01+00:00:00&filterOps.endTime=2030-01-01%2000:00:00&limit=100')
  for (const [word, actions] of Object.entries({ NONE: ['INSERT', 'GET'], CREATE: ['INSERT'], READ: ['GET'], ASSIGN: [] })) {
    const answer = await ask('GET', `${inWindow}&filterOps.actionType=${word}&filterOps.resourceType=RECORD`)
    expect(answer.status).toBe(200)
    const found: { request: { actionType: string } }[] = Object(answer.json).event
    const kinds = found.map(({ request }) => request.actionType)
    if (word === 'NONE') expect(kinds).toEqual(expect.arrayContaining(actions))
    else expect([...new Set(kinds)].filter((kind) => kind !== 'GET_BY_TOKENS')).toEqual(actions)
  }
  const { timestamp, changeID } = Object(Object(json).nextOps)
  expect(timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/)
  const next = await ask('GET', target(`&limit=1&afterOps.timestamp=${timestamp}&afterOps.changeID=${changeID}`))
  expect(next).toMatchObject({ status: 200, json: { event: [{}] } })
  expect(next.json).not.toEqual(json)
})

it('uploads a file before the id of its record, and asks for its status by fileFields', async () => {
  const { records } = await opened.session.insert('papers', [{ fields: { title: 'a' } }])
  const { id } = recordAt(records, 0)
  const file = { key: 'file', content: 'hello', fileName: 'a.txt' }
  const rest = Object.entries({ columnName: 'scan', tableName: 'papers', svcID: id }).map(([key, content]) => ({ key, content }))
  const { body, headers } = multipart(file, ...rest)
  const upload = await ask('POST', '/v2/vaults/v1/files/upload', { body, headers: { ...OWNER_HEADERS, ...headers } })
  expect(upload).toEqual({ status: 200, json: { svcID: id } })
  const json = { records: [{ tableName: 'papers', svcID: id, fileFields: ['scan'], fileColumns: [] }] }
  expect(await ask('POST', '/v2/vaults/v1/files/uploadStatus', { json })).toMatchObject({
    status: 200,
    json: { records: [{ tableName: 'papers', fields: { svc_id: id, scan: { file_status: 'UPLOADED' } }, http_code: 200 }] },
  })
})

it('uses the legacy routes of a table, with updatedTime, and those of tokens', async () => {
  const inserted = await ask('POST', `${V}/cards`, {
    json: { vaultID: 'v1', records: [{ fields: { name: 'Ivy' } }], tokenization: true },
  })
  const [{ svc_id: id, tokens }] = Object(inserted.json).records
  const updated = await ask('PUT', `${V}/cards/${id}`, { json: { ID: id, vaultID: 'v1', record: { fields: { name: 'Joy' } } } })
  expect(updated).toEqual({ status: 200, json: { svc_id: id, updatedTime: expect.stringMatching(/^2026-01-31T12:00:00/) } })
  expect(await ask('GET', `${V}/cards`)).toEqual({ status: 200, json: { records: [{ fields: { svc_id: id, name: 'Joy' } }] } })
  const { tokens: renewed } = Object((await ask('GET', `${V}/cards/${id}?tokenization=true`)).json)
  const legacy = { token_id: renewed.name, fields: { name: 'Joy' } }
  expect(await ask('GET', `${V}/tokens/${renewed.name}`)).toEqual({ status: 200, json: legacy })
  expect(await ask('GET', `${V}/tokens?token_ids=${renewed.name}`)).toEqual({ status: 200, json: { records: [legacy] } })
  expect((await ask('GET', `${V}/tokens/${tokens.name}`)).status).toBe(tokens.name === renewed.name ? 200 : 404)
  expect(await ask('DELETE', `${V}/cards`, { json: { svc_ids: ['*'] } })).toEqual({
    status: 200,
    json: { RecordIDResponse: ['*'] },
  })
})

it('keeps its own names of ids', async () => {
  const names = { id: 'row_id', ids: 'row_ids', fileId: 'rowID' }
  const other = await serveRouter({ vaults: opened.vault, authenticate: knownCallers({ owner: OWNER }), names })
  const send = (method: string, target: string, body?: unknown) =>
    other.wire().send({ method, target, headers: OWNER_HEADERS, body: body === undefined ? undefined : JSON.stringify(body) })
  expect((await send('GET', `${V}/people?row_ids=${ann.id}&fields=email`)).json).toEqual({
    records: [{ fields: { row_id: ann.id, email: 'ann@acme.example' } }],
  })
  expect((await send('POST', `${V}/query`, { query: `SELECT row_id FROM people WHERE row_id = '${ann.id}'` })).json).toEqual({
    records: [{ fields: { row_id: ann.id } }],
  })
  expect((await send('GET', `${V}/people/${UNKNOWN_ID}`)).text).toContain("isn't a valid row_id ID. Specify a valid row_id.")
  const records = [
    { method: 'POST', tableName: 'people', fields: { name: 'Kay' } },
    { method: 'GET', tableName: 'people', ID: '$responses.0.records.0.row_id' },
  ]
  expect((await send('POST', V, { records })).json).toMatchObject({
    responses: [{ records: [{ row_id: expect.any(String) }] }, {}],
  })
  await other.close()
})

/** A page of cards. */
interface Page {
  readonly records: readonly { readonly fields: { readonly name: string } }[]
  readonly next?: string
}

async function askPage(target: string): Promise<{ readonly status: number; readonly page: Page }> {
  const { status, json } = await ask('GET', target)
  return { status, page: json as Page }
}

it('goes on from a page by its next, whatever is deleted in front of it', async () => {
  const names = ['p1', 'p2', 'p3', 'p4', 'p5']
  const { records } = await opened.session.insert(
    'cards',
    names.map((name) => ({ fields: { name } })),
  )
  const seen: string[] = []
  let target = `${V}/cards?limit=2`
  for (let page = 0; page < 3; page++) {
    const { status, page: shown } = await askPage(target)
    expect(status).toBe(200)
    seen.push(...shown.records.map(({ fields }) => fields.name))
    if (page === 0) await opened.session.delete('cards', [recordAt(records, 0).id])
    target = `${V}/cards?limit=2&after=${shown.next}`
    if (page === 2) expect(shown).not.toHaveProperty('next')
  }
  expect(seen).toEqual(names)
  const { page: first } = await askPage(`${V}/cards?limit=1`)
  for (const more of ['offset=1', 'order_by=DESCENDING', `svc_ids=${recordAt(records, 1).id}`]) {
    expect((await ask('GET', `${V}/cards?after=${first.next}&${more}`)).status, more).toBe(400)
  }
  expect((await ask('GET', `${V}/people?after=${first.next}`)).status).toBe(400)
  await opened.session.delete('cards', ['*'])
})

it('refuses an integer beyond 2^53 in every column, and takes it as text', async () => {
  const insert = (fields: string) => ask('POST', `${V}/people`, { body: `{"records":[{"fields":{"name":"Cy",${fields}}}]}` })
  for (const fields of ['"notes":{"a":[9007199254740993]}', '"score":9007199254740993', '"salary":9007199254740993']) {
    expect(await insert(fields), fields).toMatchObject({
      status: 400,
      json: { error: { message: expect.stringMatching(/integer beyond 2\^53.*: line 1, column \d+\.$/) } },
    })
  }
  expect((await insert('"salary":"9007199254740993","score":1e20')).status).toBe(200)
})
