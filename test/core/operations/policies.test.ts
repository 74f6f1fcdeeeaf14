/** Policies through operations: what each role can do, and that hidden data looks like missing data. */
import { expect, it } from 'vitest'
import { type Caller, isVaultError, type PolicyFor, type VaultError } from '../../../src/index.ts'
import type { StorageHandle } from '../../../src/storage-port.ts'
import { type ClientSession, type Clients, callerOf, openClients, PEOPLE } from '../../support/audit/audited-clients.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

const POLICY = {
  support: ['ALLOW READ ON clients.name, clients.email WITH REDACTION = MASKED', 'ALLOW SEARCH ON clients.email'],
  analyst: [
    'ALLOW READ, UPDATE, DELETE, DETOKENIZATION, TOKENIZATION ON clients.* WITH REDACTION = PLAIN_TEXT WHERE clients.country = ctx.country',
  ],
  pipeline: ['ALLOW CREATE, TOKENIZATION ON clients.*'],
  auditor: ['ALLOW AUDIT ON *'],
  swede: [
    "ALLOW CREATE, UPDATE ON clients.* WHERE clients.country = 'SE'",
    'ALLOW READ ON clients.* WITH REDACTION = PLAIN_TEXT',
  ],
  stepped: [
    'ALLOW READ ON clients.name WITH REDACTION = MASKED',
    'ALLOW READ ON clients.name WITH REDACTION = PLAIN_TEXT WHERE clients.salary > 150',
    "DENY READ ON clients.name WHERE clients.country = 'DE'",
    'ALLOW READ ON clients.country',
  ],
  blind: ['ALLOW READ, CREATE, UPDATE ON clients.name, clients.country WITH REDACTION = PLAIN_TEXT'],
} as const satisfies PolicyFor<Clients>

const analyst = (country: string): Caller => ({ ...callerOf('analyst'), context: { country } })

async function open(storage: StorageHandle) {
  const vault = await openClients(storage, { policy: POLICY })
  const owner = vault.as(OWNER)
  const { records } = await owner.insert(
    'clients',
    PEOPLE.map((fields) => ({ fields })),
    { tokenization: true },
  )
  const ids = records.map(({ id }) => id)
  const tokens = records.map((record) => record.tokens.email ?? '')
  const namesLeft = async () =>
    (await owner.get('clients', { redaction: 'PLAIN_TEXT', fields: ['name'] })).records.map(({ fields }) => fields.name)
  return { vault, owner, ids, tokens, namesLeft }
}

/** All members of an error as text, with one text replaced by `…`. */
async function errorOf(work: Promise<unknown>, but?: string): Promise<unknown> {
  const error: unknown = await work.then(
    (answer) => ({ answer }),
    (thrown: unknown) => thrown,
  )
  if (!isVaultError(error)) throw new Error(`this was not refused: ${JSON.stringify(error)}`)
  const { code, grpcCode, message, details, cause }: VaultError = error
  const text = JSON.stringify({ code, grpcCode, message, details, cause: cause ?? null })
  return JSON.parse(but === undefined ? text : text.replaceAll(but, '…'))
}

async function codeOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'answered',
    (error: unknown) => (isVaultError(error) ? error.code : error),
  )
}

/** One call of every verb on table clients. */
function everyVerb(
  session: ClientSession,
  { id, token }: { id: string; token: string },
): Readonly<Record<string, Promise<unknown>>> {
  return {
    insert: session.insert('clients', [{ fields: { name: 'New' } }]),
    upsert: session.insert('clients', [{ fields: { name: 'New', email: 'new@acme.example' } }], { upsert: 'email' }),
    get: session.get('clients', { ids: [id] }),
    lookup: session.get('clients', { where: { email: 'anna@acme.example' } }),
    page: session.get('clients'),
    query: session.query('SELECT name FROM clients'),
    update: session.updateOne('clients', id, { name: 'Other' }),
    tokenize: session.tokenize([{ table: 'clients', column: 'email', value: 'anna@acme.example' }]),
    detokenize: session.detokenize([{ token }]),
    getByTokens: session.getByTokens([token]),
    listEvents: session.listEvents({ filterOps: { accountID: 'v1' } }),
    deleteOne: session.deleteOne('clients', id),
  }
}

const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  support: ['get', 'lookup', 'page', 'query'],
  pipeline: ['insert', 'tokenize'],
  auditor: ['listEvents'],
  unknown: [],
}

onEachStorage('policies', (engine) => {
  it('allow each role its verbs and forbid all others', async () => {
    for (const [role, verbs] of Object.entries(ALLOWED)) {
      const { vault, ids, tokens } = await open(engine.fresh().open())
      const calls = everyVerb(vault.as(callerOf(role)), { id: ids[0] ?? '', token: tokens[0] ?? '' })
      const codes = await Promise.all(Object.values(calls).map(codeOf))
      const expected = Object.keys(calls).map((verb) => (verbs.includes(verb) ? 'answered' : 'forbidden'))
      expect(Object.fromEntries(Object.keys(calls).map((verb, n) => [verb, codes[n]])), role).toEqual(
        Object.fromEntries(Object.keys(calls).map((verb, n) => [verb, expected[n]])),
      )
    }
  })

  it('show masked columns at any requested redaction, and allow lookups with SEARCH', async () => {
    const { vault, ids } = await open(engine.fresh().open())
    const support = vault.as(callerOf('support'))
    for (const redaction of ['DEFAULT', 'MASKED', 'PLAIN_TEXT'] as const) {
      const { fields } = await support.getOne('clients', ids[0] ?? '', { redaction })
      // Column email has no mask, so masked it shows as redacted.
      expect(fields).toEqual({ name: 'A***', email: '*REDACTED*' })
    }
    const { records } = await support.get('clients', {
      where: { email: ['bert@acme.example', 'x@acme.example'] },
    })
    expect(records.map(({ id }) => id)).toEqual([ids[1]])
    expect(await codeOf(support.get('clients', { where: { ['name' as 'email']: 'Anna' } }))).toBe('forbidden')
  })

  it('give the same error for a hidden column as for one that does not exist', async () => {
    const { vault, ids } = await open(engine.fresh().open())
    const blind = vault.as(callerOf('blind'))
    const namings: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
      fields: (name) => blind.get('clients', { fields: [name as 'name'] }),
      'fields of one': (name) => blind.getOne('clients', ids[0] ?? '', { fields: [name as 'name'] }),
      lookup: (name) => blind.get('clients', { where: { [name as 'email']: 'anna@acme.example' } }),
      insert: (name) => blind.insert('clients', [{ fields: { name: 'n', [name]: 'x' } }]),
      'insert of tokens': (name) =>
        blind.insert('clients', [{ fields: { name: 'n' }, tokens: { [name]: 'x' } }], { byot: 'ENABLE' }),
      upsert: (name) => blind.insert('clients', [{ fields: { name: 'n' } }], { upsert: name as 'email' }),
      update: (name) => blind.updateOne('clients', ids[0] ?? '', { [name]: 'x' }),
      select: (name) => blind.query(`SELECT ${name} FROM clients`),
      where: (name) => blind.query(`SELECT name FROM clients WHERE ${name} = 'x'`),
      join: (name) => blind.query(`SELECT a.name FROM clients a JOIN clients b ON a.${name} = b.${name}`),
    }
    for (const [place, naming] of Object.entries(namings)) {
      for (const hidden of ['email', 'salary']) {
        // Both names have one length, because query errors contain the position in the text.
        const unknown = 'x'.repeat(hidden.length)
        expect(await errorOf(naming(hidden), hidden), `${place} of ${hidden}`).toEqual(await errorOf(naming(unknown), unknown))
      }
    }
    expect((await blind.getOne('clients', ids[0] ?? '', { redaction: 'PLAIN_TEXT' })).fields).toEqual({
      name: 'Anna',
      country: 'SE',
    })
    expect((await blind.query('SELECT * FROM clients LIMIT 1')).records[0]?.fields).toEqual({
      svc_id: ids[0],
      name: 'A***',
      country: 'SE',
    })
  })

  it('treat a hidden row as missing, in every verb', async () => {
    const { vault, owner, ids, tokens, namesLeft } = await open(engine.fresh().open())
    const session = vault.as(analyst('SE'))
    const { records } = await owner.insert('clients', [{ fields: { name: 'Gone', email: 'gone@acme.example', country: 'SE' } }], {
      tokenization: true,
    })
    const gone = records[0]
    await owner.deleteOne('clients', gone?.id ?? '')
    const hidden = { id: ids[1] ?? '', token: tokens[1] ?? '', email: 'bert@acme.example' }
    const absent = { id: gone?.id ?? '', token: gone?.tokens.email ?? '', email: 'gone@acme.example' }
    const verbs: Readonly<Record<string, (of: typeof hidden) => Promise<unknown>>> = {
      get: ({ id }) => session.get('clients', { ids: [ids[0] ?? '', id] }),
      getOne: ({ id }) => session.getOne('clients', id),
      update: ({ id }) => session.updateOne('clients', id, { name: 'n' }),
      delete: ({ id }) => session.delete('clients', [ids[0] ?? '', id]),
      deleteOne: ({ id }) => session.deleteOne('clients', id),
      detokenize: ({ token }) => session.detokenize([{ token: tokens[0] ?? '' }, { token }]),
      tokenize: ({ email }) => session.tokenize([{ table: 'clients', column: 'email', value: email }]),
    }
    for (const [verb, call] of Object.entries(verbs)) {
      expect(await errorOf(call(hidden), hidden.id), verb).toEqual(await errorOf(call(absent), absent.id))
    }
    const answers: Readonly<Record<string, (of: typeof hidden) => Promise<unknown>>> = {
      getByTokens: ({ token }) => session.getByTokens([token]),
      lookup: ({ email }) => session.get('clients', { where: { email: [email] } }),
      query: ({ email }) => session.query(`SELECT name FROM clients WHERE email = '${email}'`),
      detokenize: ({ token }) => session.detokenize([{ token: tokens[0] ?? '' }, { token }], { continueOnError: true }),
    }
    for (const [verb, call] of Object.entries(answers)) {
      const reported = async (of: typeof hidden) => JSON.stringify(await call(of)).replaceAll(of.token, '…')
      expect(await reported(hidden), verb).toBe(await reported(absent))
    }
    expect(await namesLeft()).toEqual(['Anna', 'Bert', 'Cilla'])
  })

  it("filter rows by the caller's context before pages, totals and deletions", async () => {
    const { vault, owner, namesLeft } = await open(engine.fresh().open())
    const more = Array.from({ length: 40 }, (_, n) => ({ fields: { name: `n${n}`, country: n % 2 === 0 ? 'SE' : 'DE' } }))
    await owner.insert('clients', more)
    const swedish = ['Anna', 'Cilla', ...Array.from({ length: 20 }, (_, n) => `n${2 * n}`)]
    const session = vault.as(analyst('SE'))
    const names = async (options: { offset?: number; limit?: number; orderBy?: 'DESCENDING' }) =>
      (await session.get('clients', { fields: ['name'], redaction: 'PLAIN_TEXT', ...options })).records.map(
        ({ fields }) => fields.name,
      )
    expect(await names({})).toEqual(swedish)
    expect(await names({ limit: 3, offset: 1 })).toEqual(swedish.slice(1, 4))
    expect(await names({ limit: 5, offset: 20 })).toEqual(swedish.slice(20))
    expect(await names({ limit: 2, orderBy: 'DESCENDING' })).toEqual(swedish.slice(-2).reverse())
    expect((await session.query('SELECT COUNT(*) FROM clients')).records[0]?.fields).toEqual({ 'count(*)': 22 })
    expect((await vault.as(analyst('NO')).get('clients')).records).toEqual([])
    await session.delete('clients', '*')
    expect(await namesLeft()).toEqual(['Bert', ...Array.from({ length: 20 }, (_, n) => `n${2 * n + 1}`)])
  })

  it('grant nothing if their condition uses a missing context attribute', async () => {
    const { vault } = await open(engine.fresh().open())
    expect(await codeOf(vault.as(callerOf('analyst')).get('clients'))).toBe('forbidden')
  })

  it('apply to the record after the change, too', async () => {
    const { vault, ids, namesLeft } = await open(engine.fresh().open())
    const swede = vault.as(callerOf('swede'))
    const fields = { name: 'Disa', email: 'disa@acme.example' }
    expect(await codeOf(swede.insert('clients', [{ fields: { ...fields, country: 'DE' } }]))).toBe('forbidden')
    expect(await codeOf(swede.insert('clients', [{ fields }]))).toBe('forbidden')
    expect(
      await codeOf(swede.insert('clients', [{ fields: { ...fields, country: 'SE' } }, { fields: { name: 'E', country: 'DE' } }])),
    ).toBe('forbidden')
    expect(await codeOf(swede.updateOne('clients', ids[0] ?? '', { country: 'DE' }))).toBe('forbidden')
    expect(await codeOf(swede.updateOne('clients', ids[1] ?? '', { country: 'SE' }))).toBe('not_found')
    expect(await codeOf(swede.insert('clients', [{ fields: { ...PEOPLE[0], country: 'DE' } }], { upsert: 'email' }))).toBe(
      'forbidden',
    )
    expect(await namesLeft()).toEqual(['Anna', 'Bert', 'Cilla'])
    await swede.insert('clients', [{ fields: { ...fields, country: 'SE' } }])
    await swede.insert('clients', [{ fields: { ...PEOPLE[0], name: 'Anne' } }], { upsert: 'email' })
    expect(await namesLeft()).toEqual(['Anne', 'Bert', 'Cilla', 'Disa'])
  })

  it('reject an upsert of a hidden row as a duplicate value', async () => {
    const { vault, namesLeft } = await open(engine.fresh().open())
    const swede = vault.as(callerOf('swede'))
    const taken = [{ fields: { name: 'X', email: 'bert@acme.example', country: 'SE' } }]
    const plain = await errorOf(swede.insert('clients', taken))
    expect(plain).toMatchObject({ code: 'conflict', details: [{ column: 'email' }] })
    expect(await errorOf(swede.insert('clients', taken, { upsert: 'email' }))).toEqual(plain)
    expect(await namesLeft()).toEqual(['Anna', 'Bert', 'Cilla'])
  })

  it('can show a column at another level in each row, or hide it', async () => {
    const { vault, ids } = await open(engine.fresh().open())
    const stepped = vault.as(callerOf('stepped'))
    const shown = [{ name: 'A***', country: 'SE' }, { country: 'DE' }, { name: 'Cilla', country: 'SE' }]
    expect((await stepped.get('clients', { redaction: 'PLAIN_TEXT' })).records.map(({ fields }) => fields)).toEqual(shown)
    expect((await stepped.get('clients', { ids, redaction: 'PLAIN_TEXT' })).records.map(({ fields }) => fields)).toEqual(shown)
    expect((await stepped.get('clients', { ids, redaction: 'REDACTED' })).records[2]?.fields.name).toBe('*REDACTED*')
  })

  it('show detokenized values at the level of READ, and nothing without READ', async () => {
    const policy = {
      plain: ['ALLOW DETOKENIZATION ON clients.email', 'ALLOW READ ON clients.email WITH REDACTION = PLAIN_TEXT'],
      redacted: ['ALLOW DETOKENIZATION ON clients.email', 'ALLOW READ ON clients.email WITH REDACTION = REDACTED'],
      unread: ['ALLOW DETOKENIZATION ON clients.email'],
    } as const satisfies PolicyFor<Clients>
    const vault = await openClients(engine.fresh().open(), { policy })
    const { records } = await vault.as(OWNER).insert('clients', [{ fields: PEOPLE[0] }], { tokenization: true })
    const token = records[0]?.tokens.email ?? ''
    const ask = async (role: string) =>
      (await vault.as(callerOf(role)).detokenize([{ token, redaction: 'PLAIN_TEXT' }])).records[0]?.value
    expect(await ask('plain')).toBe('anna@acme.example')
    expect(await ask('redacted')).toBe('*REDACTED*')
    await expect(ask('unread')).rejects.toMatchObject({ code: 'not_found' })
  })

  it('return to a writer without READ only the tokens and ids of its own records', async () => {
    const { vault, owner } = await open(engine.fresh().open())
    const pipeline = vault.as(callerOf('pipeline'))
    const { records } = await pipeline.insert('clients', [{ fields: { name: 'Disa', email: 'disa@acme.example' } }], {
      tokenization: true,
    })
    const asked = await pipeline.tokenize([{ table: 'clients', column: 'email', value: 'disa@acme.example' }])
    expect(asked.records).toEqual([{ token: records[0]?.tokens.email }])
    expect((await owner.getOne('clients', records[0]?.id ?? '')).fields.email).toBe('disa@acme.example')
    expect(await codeOf(pipeline.getOne('clients', records[0]?.id ?? ''))).toBe('forbidden')
  })
})
