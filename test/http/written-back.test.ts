/** Records that clients write back over HTTP: as they were shown, and with the values that are stored. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { column, mask } from '../../src/index.ts'
import { knownCallers, type ServedRouter, serveRouter } from '../support/http/serve-router.ts'
import { insertOne, type LooseVault, openLoose } from '../support/vaults/open-untyped.ts'
import { OWNER } from '../support/vaults/test-vault.ts'

const TABLES = {
  members: {
    email: column.string({ unique: true, redaction: 'PLAIN_TEXT' }),
    name: column.string({ redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
    phone: column.string({ token: { kind: 'formatPreserving', format: 'phone' } }),
    pin: column.string({ token: 'transient' }),
  },
}
const HEADERS = { authorization: 'Bearer owner', 'content-type': 'application/json' }
const V = '/v1/vaults/v1'

let opened: LooseVault
let served: ServedRouter

beforeAll(async () => {
  opened = await openLoose(memoryStorage(), TABLES)
  served = await serveRouter({ vaults: opened.vault, authenticate: knownCallers({ owner: OWNER }) })
})

afterAll(async () => {
  await served.close()
  await opened.vault.close()
})

/** Sends a request as the owner. Returns status and body. */
async function ask(method: string, target: string, { json: given }: { readonly json?: unknown } = {}) {
  const body = given === undefined ? {} : { body: JSON.stringify(given) }
  const { status, json } = await served.wire().send({ method, target, headers: HEADERS, ...body })
  return { status, json }
}

const MEMBER = { email: 'eve@acme.example', name: 'Eve', phone: '+46 70 123 45 67', pin: '1234' }

it('writes back what it was shown: refused, and no value is lost', async () => {
  const { id } = await insertOne(opened.session, 'members', MEMBER)
  const { json } = await ask('GET', `${V}/members/${id}`)
  const { svc_id: _id, ...shown } = fieldsIn(json)
  expect(shown).toEqual({ email: MEMBER.email, name: 'E**', phone: '*REDACTED*' })
  const message =
    'Column "name" of table "members" cannot be set to the masked or redacted form of a value (records[0]). Leave it out to keep the value; a session can write the text with allowShownText.'
  for (const [method, target, body, status] of [
    ['PUT', `${V}/members/${id}`, { record: { fields: shown } }, 422],
    ['PUT', `${V}/members/${id}`, { record: { fields: { name: 'E**' } }, allowShownText: true }, 422],
    ['POST', `${V}/members`, { records: [{ fields: { phone: '*REDACTED*' } }] }, 422],
    ['POST', `${V}/members`, { records: [{ fields: shown }], upsert: 'email' }, 422],
    ['POST', V, { records: [{ method: 'PUT', tableName: 'members', ID: id, fields: shown }] }, 422],
  ] as const)
    expect(await ask(method, target, { json: body }), `${method} ${target}`).toMatchObject({
      status,
      json: { error: { http_code: status } },
    })
  const upsert = { records: [{ fields: { email: MEMBER.email, name: 'E**' } }], upsert: 'email' }
  expect(await ask('POST', `${V}/members`, { json: upsert })).toMatchObject({
    json: { error: { message: `Insert failed. ${message}` } },
  })
  const { fields } = await opened.session.getOne('members', id, { redaction: 'PLAIN_TEXT' })
  expect(fields).toEqual({ email: MEMBER.email, name: 'Eve', phone: MEMBER.phone })
})

it('writes unchanged values again: their tokens stay', async () => {
  const values = { ...MEMBER, email: 'fay@acme.example' }
  const { id, tokens } = await insertOne(opened.session, 'members', values)
  const returned = { svc_id: id, tokens }
  const record = { fields: values }
  expect((await ask('PUT', `${V}/members/${id}`, { json: { record, tokenization: true } })).json).toEqual(returned)
  const upsert = { records: [record], upsert: 'email', tokenization: true }
  expect((await ask('POST', `${V}/members`, { json: upsert })).json).toEqual({ records: [returned] })
  const items = [{ method: 'PUT', tableName: 'members', ID: id, fields: values }]
  expect(await ask('POST', V, { json: { records: items } })).toMatchObject({ status: 200 })
  expect((await opened.session.getOne('members', id, { tokenization: true })).tokens).toEqual(tokens)
  await ask('PUT', `${V}/members/${id}`, { json: { record: { fields: { ...values, name: 'Fae' } } } })
  const { name, ...others } = (await opened.session.getOne('members', id, { tokenization: true })).tokens ?? {}
  expect(name).not.toBe(tokens.name)
  expect({ name: tokens.name, ...others }).toEqual(tokens)
})

function fieldsIn(json: unknown): Readonly<Record<string, unknown>> {
  return (json as { fields: Record<string, unknown> }).fields // What the route of one record answers.
}
