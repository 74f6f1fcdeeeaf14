/** Purposes: what a column that requires one shows without it by every verb, what policies and events have of it, and how it comes over HTTP. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { connectVault } from '../../../src/client/index.ts'
import { createHandler } from '../../../src/http/index.ts'
import { column, createVault, defineSchema, isVaultError } from '../../../src/index.ts'
import { memoryEngine } from '../../support/storages/engines.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const PLAIN = { redaction: 'PLAIN_TEXT' } as const
const REQUIRED = { ...PLAIN, requires: ['purpose'] } as const
const schema = defineSchema({
  people: {
    name: column.string(PLAIN),
    ssn: column.string({ ...REQUIRED, unique: true, token: 'deterministic' }),
    born: column.date({ ...REQUIRED, encrypted: false, index: true }),
    scan: column.file(REQUIRED),
  },
})
const SSN = '123-45-6789'
const BORN = '1990-01-31'
const WITH = { ...OWNER, purpose: 'TICKET-7: address check' }

async function filled(policy = {}) {
  const vault = await createVault({
    id: 'v1',
    schema,
    policy,
    storage: memoryEngine().fresh().open(),
    keys: localKeys({ key: TEST_SECRET }),
  })
  const fields = { name: 'Ann', ssn: SSN, born: BORN }
  const { id, tokens } = await vault.as(OWNER).insertOne('people', fields, { tokenization: true })
  await vault.as(WITH).uploadFile({ table: 'people', column: 'scan', id, file: new Blob([SSN]), fileName: 'a.txt' })
  return { vault, id, token: tokens?.ssn ?? '' }
}

type Session = ReturnType<Awaited<ReturnType<typeof filled>>['vault']['as']>

/** Every verb that shows or compares a value of the columns. */
function verbs(people: Session, { id, token }: { readonly id: string; readonly token: string }) {
  return {
    getOne: () => people.getOne('people', id),
    get: () => people.get('people', { redaction: 'PLAIN_TEXT', downloadTickets: true, returnFileMetadata: true }),
    'get, refusing lowered columns': () => people.get('people', { onLowered: 'throw' }),
    'get by a sealed value': () => people.get('people', { where: { ssn: SSN } }),
    'get by a plain value': () => people.get('people', { where: { born: BORN } }),
    updateWhere: () => people.updateWhere('people', { ssn: SSN }, { name: 'Ann' }),
    query: () => people.query("SELECT ssn, born, REDACTION(ssn, 'PLAIN_TEXT') AS plain FROM people"),
    'query by a sealed value': () => people.query(`SELECT name FROM people WHERE ssn = '${SSN}'`),
    'query by a plain value': () => people.query(`SELECT name FROM people WHERE born < '2000-01-01'`),
    'query that adds up': () => people.query('SELECT MIN(born) FROM people'),
    detokenize: () => people.detokenize([{ token, redaction: 'PLAIN_TEXT' }]),
    getByTokens: () => people.getByTokens([token], { redaction: 'PLAIN_TEXT' }),
    tokenize: () => people.tokenize([{ value: SSN, table: 'people', column: 'ssn' }]),
    openFile: async () => {
      const { stream } = await people.openFile('people', id, 'scan')
      return new Response(ReadableStream.from(stream)).text()
    },
  }
}

/** Verbs that compare, or that show nothing but the value: they are refused without a purpose. */
const REFUSED = [
  'get, refusing lowered columns',
  'get by a sealed value',
  'get by a plain value',
  'updateWhere',
  'query by a sealed value',
  'query by a plain value',
  'query that adds up',
  'tokenize',
  'openFile',
]

it('are required by columns: without one no verb shows or compares a value, and with one all do', async () => {
  const { vault, ...known } = await filled()
  const refused: string[] = []
  for (const [name, call] of Object.entries(verbs(vault.as(OWNER), known))) {
    const answer = await call().catch((error: unknown) => {
      expect(isVaultError(error)).toBe(true)
      refused.push(name)
      return String(error)
    })
    const text = JSON.stringify(answer)
    for (const value of [SSN, BORN]) expect(text, name).not.toContain(value)
    if (!REFUSED.includes(name)) expect(text, name).toContain('*REDACTED*')
    expect(text, name).not.toContain('downloadTickets":{"scan')
  }
  expect(refused).toEqual(REFUSED)
  for (const [name, call] of Object.entries(verbs(vault.as(WITH), known)))
    expect(JSON.stringify(await call()), name).toMatch(/123-45-6789|1990-01-31|Ann|"records":\[\{/)
})

it('do not keep callers without one from writing', async () => {
  const { vault, id } = await filled()
  const people = vault.as(OWNER)
  await people.updateOne('people', id, { name: 'Bo' })
  await people.insertOne('people', { name: 'Cy', ssn: SSN }, { upsert: 'ssn' })
  await expect(people.insertOne('people', { ssn: SSN })).rejects.toMatchObject({ code: 'conflict' })
  expect((await vault.as(WITH).getOne('people', id)).fields).toMatchObject({ name: 'Cy', ssn: SSN })
})

it('are read by policies, and explained', async () => {
  const { vault, id } = await filled({
    billing: ["ALLOW READ ON people.* WITH REDACTION = PLAIN_TEXT WHERE ctx.purpose = 'billing'"],
  })
  const as = (purpose?: string) => ({ ...OWNER, roles: ['billing'], ...(purpose !== undefined && { purpose }) })
  expect((await vault.as(as('billing')).getOne('people', id)).fields.ssn).toBe(SSN)
  await expect(vault.as(as('marketing')).getOne('people', id)).rejects.toBeDefined()
  const ssnFor = (caller: object) =>
    vault.explain({ ...OWNER, ...caller }, 'READ', 'people').columns.find(({ column }) => column === 'ssn')
  expect(ssnFor({})).toMatchObject({ level: 'REDACTED', lacks: 'purpose' })
  expect(ssnFor({ purpose: 'x' })).toMatchObject({ level: 'PLAIN_TEXT' })
  expect(ssnFor({ purpose: 'x' })).not.toHaveProperty('lacks')
  expect(vault.schema.people?.ssn?.requires).toEqual(['purpose'])
})

it('are in every event, and say who looked at a record and why', async () => {
  const { vault, id, token } = await filled()
  await vault.as(WITH).getOne('people', id)
  await vault.as({ ...OWNER, actor: 'bo@acme.example', purpose: 'fraud' }).detokenize([{ token }])
  const filterOps = { accountID: 'v1', resourceIDs: [`RECORD/${id}`], actionType: 'READ' } as const
  const { events } = await vault.as(OWNER).listEvents({ filterOps })
  expect(events.map(({ context, request }) => [context.actor, context.purpose, request.actionType])).toEqual([
    ['bo@acme.example', 'fraud', 'DETOKENIZE'],
    [OWNER.actor, WITH.purpose, 'GET'],
  ])
  const fraud = await vault.as(OWNER).listEvents({ filterOps: { ...filterOps, context: { purpose: 'fraud' } } })
  expect(fraud.events).toHaveLength(1)
  expect((await vault.verifyAudit()).ok).toBe(true)
})

it('are texts of one line, and the one to which a context is bound', async () => {
  const { vault } = await filled()
  for (const purpose of ['', ' ', 'x'.repeat(129), 'two\nlines', 'a\u2028b', '\u200b\u3164\u2800', '\u202egnp.7', 5, null])
    expect(() => vault.as({ ...OWNER, purpose: purpose as string }), String(purpose)).toThrow('"purpose" is missing or invalid')
  expect(() => vault.as({ ...OWNER, context: { purpose: 5 } })).toThrow('"context.purpose"')
  expect(() => vault.as({ ...OWNER, purpose: 'a', context: { purpose: 'b' } })).toThrow('not the one of its context')
  expect(() => vault.as({ ...OWNER, purpose: 'ä'.repeat(128), context: { purpose: 'ä'.repeat(128) } })).not.toThrow()
})

it('come over HTTP in one header, which is refused if it is malformed', async () => {
  const { vault, id } = await filled()
  const caller = { ...OWNER, context: {} }
  const handler = createHandler({ vaults: [vault], authenticate: async () => ({ caller, credential: { authMode: 'STS' } }) })
  const fetch = (input: string | URL | Request, init?: RequestInit) => handler(new Request(input, init))
  const connect = (purpose?: string) =>
    connectVault<typeof schema>({
      url: 'http://v',
      vaultId: 'v1',
      credentials: 'x',
      fetch,
      ...(purpose !== undefined && { purpose }),
    })
  expect((await connect('Prüfung 100%').getOne('people', id)).fields.ssn).toBe(SSN)
  expect((await connect().getOne('people', id)).fields.ssn).toBe('*REDACTED*')
  const { events } = await vault.as(OWNER).listEvents({ filterOps: { accountID: 'v1', context: { purpose: 'Prüfung 100%' } } })
  expect(events).toHaveLength(1)
  await expect(connect('').getOne('people', id)).rejects.toThrow('X-Purpose is malformed')
  for (const header of ['', '%', '%0a', 'x'.repeat(129)]) {
    const response = await fetch(`http://v/v1/vaults/v1/people/${id}`, {
      headers: { authorization: 'Bearer x', 'x-purpose': header },
    })
    expect([response.status, await response.text()]).toMatchObject([400, expect.stringContaining('X-Purpose is malformed')])
  }
})
