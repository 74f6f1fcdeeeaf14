/** Every public operation records exactly one event, with caller, operation and outcome, and without values. */
import { expect, it } from 'vitest'
import { type Caller, isVaultError } from '../../../src/index.ts'
import { type ClientSession, eventsBy, eventsOf, listedBy, openClients } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { CLERK, OWNER } from '../../support/vaults/test-vault.ts'

/** The input of the operations below: a stored record, its token, and unused names. */
interface Given {
  readonly id: string
  readonly token: string
  readonly fresh: string
}

/** One public operation: a call that succeeds, one that fails, and the expected event of the first. */
interface Verb {
  readonly action: string
  readonly resourceType: string
  /** The body with its values replaced. */
  readonly content: unknown
  /** Records of table clients that the event names; empty if it names the vault. */
  readonly about: 'table' | 'new record' | 'record' | 'records alone' | 'vault'
  well(session: ClientSession, given: Given): Promise<unknown>
  badly(session: ClientSession, given: Given): Promise<unknown>
  readonly code: number
}

const HIDDEN = '*REDACTED*'
const CANARY = 'Quetzalcoatl'
const fieldsOf = (fresh: string) => ({
  name: `${CANARY} ${fresh}`,
  email: `${CANARY}.${fresh}@acme.example`,
  salary: 918_273_645,
})
const RECORDED_FIELDS = { name: HIDDEN, email: HIDDEN, salary: HIDDEN }
const EVENTS = { filterOps: { accountID: 'v1' } }

const VERBS: Readonly<Record<string, Verb>> = {
  insert: {
    action: 'INSERT',
    resourceType: 'RECORD',
    content: { table: 'clients', records: [{ fields: RECORDED_FIELDS }], tokenization: true },
    about: 'new record',
    well: (session, { fresh }) => session.insert('clients', [{ fields: fieldsOf(fresh) }], { tokenization: true }),
    badly: (session) => session.insert('clients', [{ fields: { ...fieldsOf('standing'), email: `${CANARY}@acme.example` } }]),
    code: 422,
  },
  upsert: {
    action: 'INSERT',
    resourceType: 'RECORD',
    content: { table: 'clients', records: [{ fields: RECORDED_FIELDS }], upsert: 'email' },
    about: 'new record',
    well: (session, { fresh }) => session.insert('clients', [{ fields: fieldsOf(fresh) }], { upsert: 'email' }),
    badly: (session, { fresh }) => session.insert('clients', [{ fields: fieldsOf(fresh) }], { upsert: 'country' as 'email' }),
    code: 422,
  },
  'get by ids': {
    action: 'GET',
    resourceType: 'RECORD',
    content: { table: 'clients', ids: [HIDDEN], redaction: 'PLAIN_TEXT' },
    about: 'record',
    well: (session, { id }) => session.get('clients', { ids: [id], redaction: 'PLAIN_TEXT' }),
    badly: (session) => session.get('clients', { ids: [CANARY] }),
    code: 404,
  },
  'get by value': {
    action: 'GET',
    resourceType: 'RECORD',
    content: { table: 'clients', where: { email: [HIDDEN] } },
    about: 'record',
    well: (session) => session.get('clients', { where: { email: [`${CANARY}@acme.example`] } }),
    badly: (session) => session.get('clients', { where: { [CANARY as 'email']: [CANARY] } }),
    code: 400,
  },
  'get one': {
    action: 'GET',
    resourceType: 'RECORD',
    content: { table: 'clients', id: HIDDEN, tokenization: true },
    about: 'record',
    well: (session, { id }) => session.getOne('clients', id, { tokenization: true }),
    badly: (session) => session.getOne('clients', CANARY),
    code: 404,
  },
  update: {
    action: 'UPDATE',
    resourceType: 'RECORD',
    content: { table: 'clients', id: HIDDEN, fields: { country: HIDDEN } },
    about: 'record',
    well: (session, { id }) => session.updateOne('clients', id, { country: CANARY }),
    badly: (session, { id }) => session.updateOne('clients', id, { name: null as unknown as string, country: CANARY }),
    code: 422,
  },
  tokenize: {
    action: 'TOKENIZE',
    resourceType: 'TOKEN',
    content: { records: [{ table: 'clients', column: 'email', value: HIDDEN }] },
    about: 'vault',
    well: (session) => session.tokenize([{ table: 'clients', column: 'email', value: `${CANARY}@acme.example` }]),
    badly: (session) => session.tokenize([{ table: 'clients', column: 'email', value: CANARY }]),
    code: 404,
  },
  detokenize: {
    action: 'DETOKENIZE',
    resourceType: 'TOKEN',
    content: { records: [{ token: HIDDEN, redaction: 'MASKED' }], continueOnError: true },
    about: 'records alone',
    well: (session, { token }) => session.detokenize([{ token, redaction: 'MASKED' }], { continueOnError: true }),
    badly: (session) => session.detokenize([{ token: CANARY }]),
    code: 404,
  },
  'get by tokens': {
    action: 'GET_BY_TOKENS',
    resourceType: 'TOKEN',
    content: { tokens: [HIDDEN], redaction: 'DEFAULT' },
    about: 'records alone',
    well: (session, { token }) => session.getByTokens([token], { redaction: 'DEFAULT' }),
    badly: (session, { token }) => session.getByTokens([token], { redaction: CANARY as 'DEFAULT' }),
    code: 400,
  },
  query: {
    action: 'QUERY',
    resourceType: 'VAULT',
    content: { query: HIDDEN, tables: ['clients'], columns: ['clients.name', 'clients.email'], filters: ['clients.email'] },
    about: 'record',
    well: (session) => session.query(`SELECT name FROM clients WHERE email = '${CANARY}@acme.example'`),
    badly: (session) => session.query(`SELECT ${CANARY} FROM clients WHERE name = '${CANARY}'`),
    code: 400,
  },
  'list events': {
    action: 'LIST_EVENTS',
    resourceType: 'VAULT',
    content: { query: { filterOps: { accountID: HIDDEN, context: { actor: HIDDEN } } } },
    about: 'vault',
    well: (session) => session.listEvents({ filterOps: { accountID: 'v1', context: { actor: CANARY } } }),
    badly: (session) => session.listEvents({ ...EVENTS, limit: 101 }),
    code: 400,
  },
  'delete one': {
    action: 'DELETE',
    resourceType: 'RECORD',
    content: { table: 'clients', id: HIDDEN },
    about: 'record',
    well: (session, { id }) => session.deleteOne('clients', id),
    badly: (session) => session.deleteOne('clients', CANARY),
    code: 404,
  },
  'delete all': {
    action: 'DELETE',
    resourceType: 'TABLE',
    content: { table: 'clients', ids: [HIDDEN] },
    about: 'table',
    well: (session) => session.delete('clients', '*'),
    badly: (session) => session.delete(CANARY as 'clients', '*'),
    code: 404,
  },
}

/** Inserts the record that the calls above use. */
async function standing(session: ClientSession): Promise<Given> {
  const fields = { ...fieldsOf('standing'), email: `${CANARY}@acme.example` }
  const { records } = await session.insert('clients', [{ fields }], { tokenization: true })
  return { id: records[0]?.id ?? '', token: records[0]?.tokens.email ?? '', fresh: 'fresh' }
}

/** The recorded message of an error: names that the schema does not have are masked, because they may be values. */
function recordedMessage(error: unknown): string {
  return error instanceof Error ? error.message.replaceAll(new RegExp(`"${CANARY}"`, 'gi'), '*UNKNOWN*') : ''
}

onEachStorage('events', (engine) => {
  it('are recorded once per operation: successful, failed or forbidden', async () => {
    const vault = await openClients(engine.fresh().open())
    const owner = vault.as(OWNER)
    const given = await standing(owner)
    for (const [name, verb] of Object.entries(VERBS)) {
      const denied = await eventsBy(vault, () => verb.well(vault.as(CLERK), given))
      const bad = await eventsBy(vault, () => verb.badly(owner, given))
      const good = await eventsBy(vault, () => verb.well(owner, given))
      expect(denied.error, name).toMatchObject({ code: 'forbidden' })
      expect(isVaultError(bad.error), name).toBe(true)
      expect(good.error, name).toBeUndefined()
      const common = { action: verb.action, resourceType: verb.resourceType, vaultID: 'v1', accountID: 'v1' }
      expect(denied.events, name).toMatchObject([
        { ...common, code: 401, message: recordedMessage(denied.error), context: { actor: CLERK.actor, actorType: 'USER' } },
      ])
      expect(bad.events, name).toMatchObject([{ ...common, code: verb.code, message: recordedMessage(bad.error) }])
      expect(bad.events[0]?.rows, name).toBeUndefined()
      expect(good.events, name).toMatchObject([{ ...common, code: 200, message: '', context: { actor: OWNER.actor } }])
      expect(JSON.parse(good.events[0]?.content ?? '""'), name).toEqual(verb.content)
    }
    expect(JSON.stringify(await eventsOf(vault))).not.toMatch(new RegExp(`${CANARY}|918273645`, 'i'))
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 1 + 3 * Object.keys(VERBS).length })
  })

  it('name their records, tables or vault by public ids', async () => {
    const vault = await openClients(engine.fresh().open())
    const owner = vault.as(OWNER)
    const given = await standing(owner)
    const abouts = {
      table: ['TABLE/clients'],
      record: ['TABLE/clients', `RECORD/${given.id}`],
      'records alone': [`RECORD/${given.id}`],
      vault: ['VAULT/v1'],
      'new record': undefined,
    }
    for (const [name, verb] of Object.entries(VERBS)) {
      const answer = await verb.well(owner, given)
      const [event] = (await listedBy(owner)).slice(-1)
      const resources = abouts[verb.about] ?? ['TABLE/clients', `RECORD/${firstId(answer)}`]
      const { action: actionType, resourceType } = verb
      expect(event?.request, name).toEqual({ actionType, resourceType, vaultID: 'v1', resources })
    }
  })

  it('of tokens of several tables in turn is one event that names each record once, by table', async () => {
    const owner = (await openClients(engine.fresh().open())).as(OWNER)
    const people = await owner.insert('clients', [{ fields: { name: 'Ann' } }, { fields: { name: 'Bo' } }], {
      tokenization: true,
    })
    const orders = await owner.insert('orders', [{ fields: { memo: 'one' } }], { tokenization: true })
    const [ann, bo] = people.records
    const [order] = orders.records
    const tokens = [ann?.tokens.name, order?.tokens.memo, bo?.tokens.name, order?.tokens.memo, ann?.tokens.name]
    const parameters = tokens.map((token = '') => ({ token, redaction: 'PLAIN_TEXT' as const }))
    const { records } = await owner.detokenize(parameters)
    expect(records.map(({ value }) => value)).toEqual(['Ann', 'one', 'Bo', 'one', 'Ann'])
    await owner.getByTokens(parameters.map(({ token }) => token))
    const events = (await listedBy(owner)).slice(-2)
    const named = [ann, bo, order].map((one) => `RECORD/${one?.id}`)
    for (const event of events) expect(event.request.resources?.filter((name) => name.startsWith('RECORD/'))).toEqual(named)
  })

  it('of a query of groups names the first record of each group that it returns, so that no grouping hides what was read', async () => {
    const owner = (await openClients(engine.fresh().open())).as(OWNER)
    const { records } = await owner.insert(
      'clients',
      ['Cy', 'Ann', 'Bo', 'Ann'].map((name) => ({ fields: { name } })),
    )
    const [cy, ann] = records.map(({ id }) => `RECORD/${id}`)
    const all = records.map(({ id }) => `RECORD/${id}`)
    for (const [query, named] of [
      ['SELECT name, COUNT(*) AS n FROM clients GROUP BY name ORDER BY n DESC, name DESC LIMIT 2', [ann, cy]],
      ['SELECT svc_id, name FROM clients GROUP BY svc_id, name', all],
      ['SELECT name FROM clients ORDER BY name LIMIT 1', [ann]],
    ] as const) {
      await owner.query(query)
      const event = (await listedBy(owner)).at(-1)
      expect(event?.request.resources?.toSorted(), query).toEqual(['TABLE/clients', ...named].toSorted())
    }
  })

  it('of an insert of 1,000 records is one event that names all ids in order', async () => {
    const owner = (await openClients(engine.fresh().open())).as(OWNER)
    const records = Array.from({ length: 1000 }, (_, n) => ({ fields: { name: `n${n}` } }))
    const { records: stored } = await owner.insert('clients', records)
    const [event, ...others] = await listedBy(owner)
    expect(others).toEqual([])
    expect(event?.request.resources).toEqual(['TABLE/clients', ...stored.map(({ id }) => `RECORD/${id}`)])
    expect(JSON.parse(event?.response.data?.content ?? '')).toEqual({
      table: 'clients',
      records: [{ fields: { name: HIDDEN }, times: 1000 }],
    })
  })

  it('are recorded for calls that the types do not allow', async () => {
    const vault = await openClients(engine.fresh().open())
    const owner = vault.as(OWNER)
    const hostile = new Proxy({}, { ownKeys: () => fail(), get: () => fail(), has: () => fail() })
    const calls: (() => Promise<unknown>)[] = [
      () => owner.insert('clients', null as unknown as []),
      () => owner.insert('clients', [hostile as { fields: { name: string } }]),
      () => owner.insert('clients', [{ fields: hostile as { name: string } }]),
      () => owner.get('clients', null as unknown as object),
      () => owner.updateOne('clients', 'x', undefined as unknown as object),
      () => owner.delete('clients', undefined as unknown as '*'),
      () => owner.detokenize([null as unknown as { token: string }]),
      () => owner.query(Symbol('x') as unknown as string),
      () => owner.listEvents(undefined as unknown as { filterOps: { accountID: string } }),
    ]
    for (const [index, call] of calls.entries()) {
      const { error, events } = await eventsBy(vault, call)
      expect(error, String(index)).toBeInstanceOf(Error)
      expect(events, String(index)).toHaveLength(1)
      expect(JSON.stringify(events), String(index)).not.toContain(CANARY)
    }
  })

  it('contain the request context as given', async () => {
    const vault = await openClients(engine.fresh().open(), { accountId: 'acme' })
    const request = {
      requestID: 'r-1',
      traceID: '4bf92f3577b34da6a3ce929d0e0e4736',
      sessionID: 's-1',
      clientTraceID: 'é'.repeat(128),
      ipAddress: '2001:db8::7',
      origin: 'https://acme.example',
      authMode: 'PAT_JWT',
      jwtID: 'j-1',
      keyID: 'k-1',
      bearerTokenContextID: 'b-1',
      subject: 'sub',
      accessType: 'SQL',
    } as const
    const caller = { actor: 'batch-7', actorType: 'SERVICE_ACCOUNT', roles: ['VAULT_OWNER'] } as const
    await vault.as({ ...caller, context: { email: 'end@acme.example', team: 7 }, request }).get('clients')
    const [event] = await eventsOf(vault)
    expect(event?.context).toEqual({ ...request, actor: 'batch-7', actorType: 'SERVICE_ACCOUNT', userEmail: 'end@acme.example' })
    expect(event).toMatchObject({ accountID: 'acme', vaultID: 'v1' })
    const { events } = await vault.as(OWNER).listEvents({ filterOps: { accountID: 'acme' } })
    const [listed] = events
    expect(listed?.context).toEqual({ ...request, actor: 'batch-7', actorType: 'SERVICE_ACCOUNT', changeID: event?.changeID })
    expect(listed?.request.userEmail).toBe('end@acme.example')
  })

  it('contain new ids for those not given, and the trace id of a valid traceparent', async () => {
    const vault = await openClients(engine.fresh().open())
    const trace = '0af7651916cd43dd8448eb211c80319c'
    const traceparents = [undefined, undefined, `00-${trace}-b7ad6b7169203331-01`, 'nonsense']
    for (const traceparent of traceparents) {
      await vault.as({ ...OWNER, request: traceparent === undefined ? {} : { traceparent } }).get('clients')
    }
    const contexts = (await eventsOf(vault)).map(({ context }) => context)
    for (const { requestID, traceID, ...others } of contexts) {
      expect(requestID).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(traceID).toMatch(/^[0-9a-f]{32}$/)
      expect(others).toEqual({
        actor: OWNER.actor,
        actorType: 'USER',
        accessType: 'API',
        authMode: 'STS',
        ipAddress: '',
        jwtID: '',
      })
    }
    expect(new Set(contexts.map(({ requestID }) => requestID)).size).toBe(4)
    expect(new Set(contexts.map(({ traceID }) => traceID)).size).toBe(4)
    expect(contexts[2]?.traceID).toBe(trace)
  })

  it('are not recorded for an invalid caller', async () => {
    const vault = await openClients(engine.fresh().open())
    const requests = [
      { clientTraceID: 'x'.repeat(129) },
      { traceID: 'short' },
      { authMode: 'NONE' },
      { requestID: '' },
      { color: 'x' },
    ]
    for (const request of requests) {
      const caller = { ...OWNER, request } as unknown as Caller
      expect(() => vault.as(caller)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
    }
    expect(await eventsOf(vault)).toEqual([])
  })

  it('are not recorded with audit off', async () => {
    const vault = await openClients(engine.fresh().open(), { audit: 'off' })
    const owner = vault.as(OWNER)
    const given = await standing(owner)
    for (const verb of Object.values(VERBS)) await verb.well(owner, given)
    expect(await vault.verifyAudit()).toEqual({ ok: true, eventCount: 0 })
    expect(await owner.listEvents(EVENTS)).toEqual({ events: [] })
  })
})

function firstId(answer: unknown): string | undefined {
  return (answer as { records: { id: string }[] }).records[0]?.id // Verbs that insert return the new record.
}

/** The error of a getter in the input, which quotes a value. */
function fail(): never {
  throw new Error(CANARY)
}
