/** What clients send that write every member, lists in their own way, or what they read before; and that errors name what they sent. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { createHandler } from '../../src/http/index.ts'
import { column } from '../../src/index.ts'
import { countedBlobs } from '../support/files/open-file-vault.ts'
import { multipart } from '../support/http/multipart.ts'
import { knownCallers, type ServedRouter, serveRouter } from '../support/http/serve-router.ts'
import type { Wire } from '../support/http/wire.ts'
import { type LooseVault, openLoose } from '../support/vaults/open-untyped.ts'
import { OWNER, people } from '../support/vaults/test-vault.ts'

const NAMES = { id: 'row_id', ids: 'row_ids', fileId: 'rowID' }
const UNKNOWN_ID = '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11'
const V = '/v1/vaults/v1'
const MORE_TABLES = {
  papers: { scan: column.file() },
  merchants: { number: column.string({ token: 'deterministic', redaction: 'PLAIN_TEXT' }), amount: column.integer() },
}

let opened: LooseVault
let served: ServedRouter
let wire: Wire
let id: string
let token: unknown

beforeAll(async () => {
  opened = await openLoose(memoryStorage(), { ...people.tables, ...MORE_TABLES }, { blobs: countedBlobs() })
  served = await serveRouter({ vaults: opened.vault, authenticate: knownCallers({ owner: OWNER }), names: NAMES })
  wire = served.wire()
  const { records } = await opened.session.insert('people', [{ fields: { name: 'Ann' } }], { tokenization: true })
  id = records[0]?.id ?? ''
  token = records[0]?.tokens?.name
})

afterAll(async () => {
  await served.close()
  await opened.vault.close()
})

/** Sends a request as the owner. Returns status and body. */
async function ask(method: string, target: string, body?: unknown) {
  const headers = { authorization: 'Bearer owner', 'content-type': 'application/json' }
  const { status, json } = await wire.send({
    method,
    target,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  return { status, json }
}

/** Returns status and text of an error. */
async function refused(method: string, target: string, body?: unknown): Promise<string> {
  const { status, json } = await ask(method, target, body)
  return `${status} ${String(Object(Object(json).error).message)}`
}

describe('a client that writes every member', () => {
  it('sends null and blank for optional ones that it does not set', async () => {
    const records = [{ fields: { name: 'Bo', email: null }, tokens: null }]
    const unset = { upsert: null, tokenization: null, homogeneous: null, byot: '', vaultID: null }
    expect(await ask('POST', `${V}/people`, { records, ...unset })).toMatchObject({ status: 200 })
    const update = { record: { fields: { salary: 5 }, tokens: null }, tokenization: null, byot: null, ID: '' }
    expect(await ask('PUT', `${V}/people/${id}`, update)).toMatchObject({ status: 200 })
    const detokenize = { detokenizationParameters: [{ token, redaction: '' }], downloadURL: null, continueOnError: null }
    expect(await ask('POST', `${V}/detokenize`, detokenize)).toMatchObject({ status: 200 })
    const byTokens = { tokens: [token], redaction: null }
    expect(await ask('POST', '/v2/vaults/v1/records/get_by_tokens', byTokens)).toMatchObject({ status: 200 })
    const status = { records: [{ tableName: 'people', rowID: id, fileColumns: null, fileFields: ['name'] }] }
    expect(await ask('POST', '/v2/vaults/v1/files/uploadStatus', status)).toMatchObject({ status: 207 })
  })

  it('is still refused for null in place of a required member, or of another type', async () => {
    expect(await refused('POST', `${V}/people`, { records: null })).toBe('400 Insert failed. records must be an array.')
    expect(await refused('POST', `${V}/query`, { query: null })).toBe('400 Query failed. query must be a string.')
    const parameterized = { query: 'SELECT name FROM people WHERE name = $1' }
    const withoutValue = '400 Query failed. Line 1, column 38: This parameter has no value.'
    expect(await refused('POST', `${V}/query`, parameterized)).toBe(withoutValue)
    expect(await refused('POST', `${V}/query`, { ...parameterized, values: ['Bo'] })).toBe(withoutValue)
    expect(await refused('POST', `${V}/detokenize`, { detokenizationParameters: [{ token: '' }, { token: null }] })).toBe(
      '400 Detokenize failed. detokenizationParameters[1].token must be a string.',
    )
    const records = [{ fields: { name: 'Bo' }, tokens: null }]
    expect(await refused('POST', `${V}/people`, { records, tokenization: 'yes' })).toBe(
      '400 Insert failed. tokenization must be true or false.',
    )
  })

  it('sends the defaults of a batch with every method', async () => {
    const unset = {
      redaction: 'DEFAULT',
      tokenization: false,
      downloadURL: false,
      upsert: '',
      tokens: {},
      returnFileMetadata: false,
    }
    const ID = '$responses.0.records.0.row_id'
    const records = [
      { ...unset, method: 'POST', tableName: 'people', ID: '', fields: { name: 'Cy' } },
      { ...unset, method: 'PUT', tableName: 'people', ID, fields: { salary: 7 } },
      { ...unset, method: 'GET', tableName: 'people', ID, fields: {} },
      { ...unset, method: 'DELETE', tableName: 'people', ID, fields: {} },
    ]
    const { status, json } = await ask('POST', V, { records })
    expect(status).toBe(200)
    const stored = { row_id: expect.any(String) }
    const expected = [{ records: [stored] }, stored, { fields: { ...stored, name: 'C*' } }, { ...stored, deleted: true }]
    expect(Object(json).responses).toMatchObject(expected)
  })

  it('is still refused for what a method does not have', async () => {
    const item = (more: object) => ({ records: [{ method: 'GET', tableName: 'people', ID: id, ...more }] })
    const refusal = (name: string) => `400 Batch failed. Item 0: Get failed. ${name} cannot be combined with method GET.`
    expect(await refused('POST', V, item({ fields: { name: 'x' } }))).toBe(refusal('fields'))
    expect(await refused('POST', V, item({ tokens: { name: 'x' } }))).toBe(refusal('tokens'))
    expect(await refused('POST', V, { records: [{ method: 'PUT', tableName: 'people', ID: id, fields: {} }] })).toMatch(/^400 /)
  })
})

describe('a client that lists', () => {
  it('names the id among the fields that it read before', async () => {
    const fields = { row_id: id, active: null }
    expect(await ask('GET', `${V}/people/${id}?fields=row_id&fields=active`)).toEqual({ status: 200, json: { fields } })
    const json = { records: [{ fields }] }
    expect(await ask('GET', `${V}/people?row_ids=${id}&fields=active&fields=row_id`)).toEqual({ status: 200, json })
  })

  it('is refused, and never shown more, if it writes brackets', async () => {
    for (const name of ['row_ids', 'fields', 'column_values']) {
      for (const brackets of ['[]', '[0]', '%5B%5D']) {
        expect(await refused('GET', `${V}/people?${name}${brackets}=${id}`)).toBe(
          `400 Get failed. ${name} has brackets. Repeat it without them for each item.`,
        )
      }
    }
  })

  it('is refused, and never shown more, if it misspells a member', async () => {
    expect(await refused('GET', `${V}/people/${id}?field=active&Ann%20Example=1`)).toBe(
      '400 Get failed. Member 1 of the query string is unknown. Use only redaction, tokenization, fields, downloadURL or returnFileMetadata.',
    )
    const events = '/v1/audit/events?filterOps.accountID=v1'
    for (const member of ['filterOps.context.acter=ann', 'filterOps.context.Actor=ann', 'filterOps.actor=', '__proto__=1']) {
      expect(await refused('GET', `${events}&${member}`)).toMatch(
        /^400 List events failed\. Member 2 of the query string is unknown\. Use only filterOps\.accountID, .+ or offset\.$/,
      )
    }
    expect(await refused('GET', `${V}/people?other[]=1`)).toMatch(/^400 Get failed\. Member 1 of the query string is unknown\./)
    expect(await refused('DELETE', `${V}/people/${UNKNOWN_ID}?tokenization=true`)).toBe(
      '400 Delete failed. Member 1 of the query string is unknown. Use only transients.',
    )
  })

  it('repeats a member with one value, and is refused with several', async () => {
    const find = `${V}/people?column_name=email&column_values=a@x.example&column_values=b@x.example`
    expect(await ask('GET', `${find}&column_name=email`)).toEqual({ status: 200, json: { records: [] } })
    expect(await refused('GET', `${find}&column_name=name`)).toBe(
      '400 Get failed. column_name must be given once, or with one value.',
    )
    expect(await refused('GET', `${find}&column_name=`)).toMatch(/^400 /)
  })
})

describe('a client of the legacy routes', () => {
  it('sends bare records to legacy routes, and reads them as those in fields', async () => {
    const records = [{ number: '1' }, { fields: { number: '2' }, extra: 1 }, { fields: { number: '3' }, tokens: null }, {}]
    const inserted = await ask('POST', `${V}/merchants`, { vaultID: 'v1', records })
    const ids: string[] = Object(inserted.json).records.map((record: { row_id: string }) => record.row_id)
    expect([inserted.status, ids.length]).toEqual([200, 4])
    const numbers = async () => {
      const { json } = await ask('GET', `${V}/merchants?redaction=PLAIN_TEXT`)
      return Object(json).records.map(({ fields }: { fields: Record<string, unknown> }) => [fields.number, fields.amount])
    }
    expect(await numbers()).toEqual(['1', '2', '3', null].map((number) => [number, null]))
    const update = (record: object) => ask('PUT', `${V}/merchants/${ids[0]}`, { ID: ids[0], vaultID: 'v1', record })
    expect(await update({ amount: 1 })).toMatchObject({ status: 200, json: { row_id: ids[0] } })
    expect(await update({ fields: { number: '4' } })).toMatchObject({ status: 200 })
    expect((await numbers())[0]).toEqual(['4', 1])
    expect(await update({ amuont: 1 })).toMatchObject({ status: 400, json: { error: { details: [{ column: 'amuont' }] } } })
    expect(await update({ fields: 5 })).toMatchObject({
      status: 400,
      json: { error: { message: 'Update failed. record.fields must be an object of columns.' } },
    })
  })

  it('reads the token view of a legacy table whole, whatever offset and limit it sends', async () => {
    const { json } = await ask('GET', `${V}/merchants`)
    const ids: string[] = Object(json).records.map(({ fields }: { fields: { row_id: string } }) => fields.row_id)
    const view = async (query: string) => {
      const answer = await ask('GET', `${V}/merchants?tokenization=true${query}`)
      expect(answer.status).toBe(200)
      return Object(answer.json).records.map(({ fields }: { fields: { row_id: string } }) => fields.row_id)
    }
    const named = [...ids].reverse()
    const byIds = named.map((id) => `&row_ids=${id}`).join('')
    for (const page of ['', '&offset=1&limit=1', '&offset=100', '&limit=1000', '&offset=-1&limit=x']) {
      expect(await view(page)).toEqual(ids)
      expect(await view(byIds + page)).toEqual(named)
    }
    await opened.session.insert(
      'merchants',
      Array.from({ length: 25 }, (_, number) => ({ fields: { number: `many ${number}` } })),
    )
    const first = await ask('GET', `${V}/merchants?tokenization=true&limit=1`)
    const { records, next } = Object(first.json)
    expect(records).toHaveLength(25)
    expect(await view(`&limit=1&after=${next}`)).toHaveLength(ids.length)
    expect(await ask('GET', `${V}/merchants?limit=1000`)).toMatchObject({ status: 400 })
    expect(await ask('GET', `${V}/people?tokenization=true&limit=1000`)).toMatchObject({ status: 400 })
  })

  it('tokenizes by the group table.column', async () => {
    const tokenizationParameters = [{ value: '2', columnGroup: 'merchants.number' }]
    const { status, json } = await ask('POST', `${V}/tokenize`, { tokenizationParameters })
    expect(status).toBe(200)
    const detokenizationParameters = Object(json).records
    expect((await ask('POST', `${V}/detokenize`, { detokenizationParameters })).json).toMatchObject({
      records: [{ valueType: 'STRING', value: '2' }],
    })
  })
})

describe('a name of ids', () => {
  const authenticate = knownCallers({ owner: OWNER })

  it('is refused if it is that of a column, whose value would take its place', async () => {
    const names = { id: 'email' }
    expect(() => createHandler({ vaults: [opened.vault], authenticate, names })).toThrow(
      'Option "names.id" is the name of a column of table "people". Choose another name.',
    )
    const handler = createHandler({
      vaults: () => openLoose(memoryStorage(), people.tables).then(({ vault }) => vault),
      authenticate,
      names,
    })
    const response = await handler(
      new Request(`https://vault.example${V}/people`, { headers: { authorization: 'Bearer owner' } }),
    )
    expect(response.status).toBe(500)
    expect(await response.text()).not.toContain('email')
    await handler.close()
  })

  it('is refused if queries cannot have it', () => {
    for (const id of ['rowId', 'ROW', '_row'])
      expect(() => createHandler({ vaults: opened.vault, authenticate, names: { id } })).toThrow('must have the form of a column')
  })
})

describe('an error', () => {
  it('has the names of the request, as the client wrote them', async () => {
    expect(await refused('DELETE', `${V}/people`, { row_ids: '*' })).toBe('400 Delete failed. row_ids must be an array.')
    expect(await refused('DELETE', `${V}/people`, { row_ids: [] })).toBe(
      '400 Delete failed. Expected a non-empty array of row_ids.',
    )
    expect(await refused('GET', `${V}/people?column_name=email`)).toBe(
      '400 Get failed. column_name and column_values must be given together.',
    )
    const upload = async (...parts: { key: string; content: string }[]) => {
      const { body, headers } = multipart(...parts)
      const request = { method: 'POST', target: '/v2/vaults/v1/files/upload', body }
      const { json } = await wire.send({ ...request, headers: { authorization: 'Bearer owner', ...headers } })
      return Object(Object(json).error).message
    }
    const table = { key: 'tableName', content: 'papers' }
    const file = { key: 'file', content: 'x' }
    expect(await upload(table, file)).toBe('Upload failed. columnName is required.')
    expect(await upload(table, { key: 'column_name', content: 'scan' }, file)).toContain(
      'Send only tableName, columnName, rowID,',
    )
  })

  it('does not advise what the client did already', async () => {
    const records = { detokenizationParameters: [{ token: 'unknown' }] }
    expect(await refused('POST', `${V}/detokenize`, records)).toContain('Remove it, or set continueOnError.')
    expect(await refused('POST', `${V}/detokenize`, { ...records, continueOnError: true })).toBe(
      '404 Detokenize failed. No token was found: detokenizationParameters[0]. Specify valid tokens.',
    )
  })

  it('names its operation once', async () => {
    expect(await refused('GET', `${V}/tokens`)).toBe('400 Get tokens failed. Expected a non-empty array of token_ids.')
  })

  it('has the sentence about an id also in the status of uploads', async () => {
    const records = [UNKNOWN_ID, 'Ann Example'].map((rowID) => ({ tableName: 'papers', rowID, fileColumns: ['scan'] }))
    const { json } = await ask('POST', '/v2/vaults/v1/files/uploadStatus', { records })
    expect(Object(json).records).toMatchObject([
      { error: `${UNKNOWN_ID} isn't a valid row_id ID. Specify a valid row_id.`, http_code: 404 },
      { error: `This isn't a valid row_id ID. Specify a valid row_id.`, http_code: 404 },
    ])
  })

  it('speaks of a back-reference without the words of the library', async () => {
    const item = { method: 'GET', tableName: 'people', ID: '$responses.4.records.0.row_id' }
    expect(await refused('POST', V, { records: [item] })).toContain('ID must refer to an earlier item')
    expect(await refused('POST', V, { records: [{ ...item, ID: undefined }] })).toContain('ID must be the id of a record')
  })
})
