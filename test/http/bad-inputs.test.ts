/** Bad inputs over real sockets: each is refused with its codes, in an envelope that repeats nothing, and nothing is stored. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { column } from '../../src/index.ts'
import { countedBlobs } from '../support/files/open-file-vault.ts'
import { faultsOfAnswer, memberOf } from '../support/http/answer-faults.ts'
import { knownCallers, type ServedRouter, serveRouter } from '../support/http/serve-router.ts'
import type { Wire, WireAnswer } from '../support/http/wire.ts'
import { type LooseSession, type LooseVault, openLoose } from '../support/vaults/open-untyped.ts'
import { CLERK, OWNER, people } from '../support/vaults/test-vault.ts'
import { type BadInput, type BadInputScene, OWNER_HEADERS, SECRET, TAKEN_TOKEN } from './bad-inputs/bad-input.ts'
import { FILES } from './bad-inputs/files.ts'
import { BATCH, RECORDS, VALUE } from './bad-inputs/records.ts'
import { AUDIT, QUERY, TOKENS } from './bad-inputs/tokens-and-queries.ts'
import { CREDENTIAL, JSON_BODIES, TRANSPORT } from './bad-inputs/transport.ts'

const TABLES = {
  ...people.tables,
  people: {
    ...people.tables.people,
    code: column.string({ token: 'deterministic', columnGroup: 'kin' }),
    pin: column.string({ token: { kind: 'transient' } }),
  },
  papers: { title: column.string(), scan: column.file({ maxBytes: 1000 }) },
}
const POLICY = { reader: ['ALLOW READ ON people.* WITH REDACTION = MASKED'] }

const blobs = countedBlobs()
let opened: LooseVault
let served: ServedRouter
let wire: Wire
let scene: BadInputScene

beforeAll(async () => {
  opened = await openLoose(memoryStorage(), TABLES, { policy: POLICY, blobs })
  const authenticate = knownCallers({ owner: OWNER, clerk: CLERK, reader: { ...CLERK, roles: ['reader'] } })
  served = await serveRouter({ vaults: opened.vault, authenticate, limits: { maxBodyBytes: 300_000 } })
  wire = served.wire()
  const { session } = opened
  const ann = { fields: { name: 'Ann', email: 'ann@acme.example', code: 'Kin' }, tokens: { name: TAKEN_TOKEN } }
  const { records } = await session.insert('people', [ann], { tokenization: true, byot: 'ENABLE' })
  const { records: orders } = await session.insert('orders', [{ fields: { memo: 'a' } }])
  scene = {
    vault: '/v1/vaults/v1',
    person: records[0]?.id ?? '',
    order: orders[0]?.id ?? '',
    token: records[0]?.tokens.email ?? '',
  }
})

afterAll(async () => {
  await served.close()
  await opened.vault.close()
})

const GROUPS: Readonly<Record<string, readonly BadInput[]>> = {
  transport: TRANSPORT,
  credentials: CREDENTIAL,
  'JSON bodies': JSON_BODIES,
  values: VALUE,
  records: RECORDS,
  batches: BATCH,
  tokens: TOKENS,
  queries: QUERY,
  'audit events': AUDIT,
  files: FILES,
}

describe.each(Object.entries(GROUPS))('bad %s', (_, rows) => {
  it.each(rows.map((row) => [row.name, row] as const))('%s', async (_name, { codes: [http, grpc], message, request }) => {
    const before = await contentsOf(opened.session)
    const answer = await send(request(scene))
    expect([answer.status, ...faultsOfAnswer(answer, [http])]).toEqual([http])
    const error = memberOf(answer.json, 'error')
    expect([memberOf(error, 'grpc_code'), memberOf(error, 'message')]).toEqual([
      grpc,
      expect.stringMatching(message ?? / failed\. \S/),
    ])
    expect(answer.head + answer.text).not.toMatch(/quetzal/i)
    expect(await contentsOf(opened.session)).toBe(before)
  })
})

function send(request: Parameters<Wire['send']>[0]): Promise<WireAnswer> {
  return wire.send({ headers: OWNER_HEADERS, ...request })
}

/** Every record and token, as text. */
async function contentsOf(session: LooseSession): Promise<string> {
  const reads = ['people', 'orders', 'papers'].flatMap((table) => [
    session.get(table, { redaction: 'PLAIN_TEXT', limit: 1000 }),
    session.get(table, { tokenization: true, limit: 1000 }),
  ])
  return JSON.stringify([await Promise.all(reads), [...blobs.keys()]])
}

describe('equal bytes', () => {
  /** Everything but the id of the request, and the length of nothing. */
  const bytesOf = ({ head, text, headers }: WireAnswer) => (head + text).replace(headers.get('x-request-id') ?? '', '')
  const reading = { authorization: 'Bearer limited', 'content-type': 'application/json' }

  it('answer an unknown vault and a wrong credential', async () => {
    const target = (vault: string) => ({
      method: 'GET',
      target: `/v1/vaults/${vault}/people`,
      headers: { authorization: 'Bearer unknown' },
    })
    expect(bytesOf(await send(target('v9')))).toBe(bytesOf(await send(target('v1'))))
  })

  it('answer ids that are unknown, of another table, deleted and malformed, where they do not repeat the id', async () => {
    const { records } = await opened.session.insert('people', [{ fields: { name: 'Cy' } }])
    const deleted = records[0]?.id ?? ''
    await opened.session.delete('people', [deleted])
    const ids = ['6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11', scene.order, deleted]
    const answers: string[] = []
    for (const id of ids)
      answers.push(bytesOf(await send({ method: 'GET', target: `${scene.vault}/people/${id}` })).replaceAll(id, 'ID'))
    expect(new Set(answers).size).toBe(1)
  })

  it('answer a column that is hidden and one that does not exist', async () => {
    const limited = { ...CLERK, roles: ['limited'] }
    const { vault } = await openLoose(memoryStorage(), TABLES, { policy: { limited: ['ALLOW READ ON people.name'] } })
    const other = await serveRouter({ vaults: vault, authenticate: knownCallers({ limited }) })
    const ask = (name: string) =>
      other.wire().send({ method: 'GET', target: `/v1/vaults/v1/people?fields=${name}`, headers: reading })
    const [hidden, unknown] = [await ask('email'), await ask('emial')]
    expect(hidden.status).toBe(400)
    expect(bytesOf(hidden).replaceAll('email', 'X')).toBe(bytesOf(unknown).replaceAll('emial', 'X'))
    await other.close()
    await vault.close()
  })
})

it('NUL inside a sealed text comes back as it was', async () => {
  const name = 'a\0b'
  const insert = { method: 'POST', target: `${scene.vault}/people`, body: JSON.stringify({ records: [{ fields: { name } }] }) }
  const { json } = await send(insert)
  const id = String(memberOf(memberOf(memberOf(json, 'records'), '0'), 'svc_id'))
  const { json: record } = await send({ method: 'GET', target: `${scene.vault}/people/${id}?redaction=PLAIN_TEXT` })
  expect(memberOf(memberOf(record, 'fields'), 'name')).toBe(name)
  await opened.session.delete('people', [id])
})

it('a refused request pollutes no prototype', () => {
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(Reflect.get({}, 'a')).toBeUndefined()
  expect(SECRET).toContain('TEST_SECRET')
})
