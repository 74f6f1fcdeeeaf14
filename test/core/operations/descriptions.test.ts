/** What callers can ask about themselves: it names everything that they can name, and nothing else. */
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/index.ts'
import { column, createVault, defineSchema, isVaultError, mask, type Vault } from '../../../src/index.ts'
import { eventsOf } from '../../support/audit/audited-clients.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

/** Begins every name and every value that no role but the owner may know. */
const MARKER = 'zz'

const schema = defineSchema(
  {
    people: {
      name: column.string({ required: true, redaction: 'MASKED', mask: mask.keepFirst(1), token: 'random' }),
      email: column.string({ unique: true, redaction: 'PLAIN_TEXT', token: 'deterministic' }),
      country: column.string({ encrypted: false, index: true, redaction: 'PLAIN_TEXT' }),
      phone: column.string({ token: { kind: 'formatPreserving', format: 'phone' }, requires: ['purpose'] }),
      zzcondition: column.string({ encrypted: false, redaction: 'PLAIN_TEXT' }),
      zzsealed: column.string({ searchable: true, oneOf: ['zzyes', 'zzno'] }),
    },
    zztable: { zzother: column.string() },
  },
  { uniqueTogether: { people: [['country', 'zzcondition']] } },
)

const policy = {
  nurse: [
    "ALLOW READ ON people.name WHERE zzcondition = 'zzyes'",
    "ALLOW READ ON people.email WHERE zzsealed = 'zzyes' AND country = 'SE'",
    'ALLOW SEARCH ON people.email',
  ],
  // The country that they see is redacted, so the text of the statement would show it.
  desk: [
    'ALLOW READ ON people.*',
    'DENY READ, SEARCH ON people.zzcondition, people.zzsealed',
    'ALLOW READ ON people.country WITH REDACTION = REDACTED',
    "ALLOW READ ON people.name WITH REDACTION = PLAIN_TEXT WHERE phone = 'zzphone'",
  ],
  wide: [
    'ALLOW READ ON people.country, zztable.zzother WITH REDACTION = PLAIN_TEXT',
    'DENY READ ON zztable.*',
    "ALLOW READ ON people.name WHERE country = 'SE' OR country = ctx.country",
  ],
  writer: [
    'ALLOW CREATE, TOKENIZATION ON people.name, people.email',
    'ALLOW DETOKENIZATION ON people.zzsealed',
    'ALLOW AUDIT ON *',
  ],
  none: [],
} as const
const ROLES = Object.keys(policy) as (keyof typeof policy)[]

const people = {
  name: 'Ann',
  email: 'ann@acme.example',
  country: 'SE',
  phone: '+46 8123456',
  zzcondition: 'zzyes',
  zzsealed: 'zzyes',
} as const

async function open() {
  const vault = await createVault({ id: 'v1', schema, policy, storage: memoryStorage(), keys: localKeys({ key: TEST_SECRET }) })
  await vault.as(OWNER).insert('people', [{ fields: people }])
  const callerOf = (role: string) => ({ actor: `${role}@acme.example`, actorType: 'USER', roles: [role] }) as const
  return { vault: vault as unknown as Vault, as: (role: string) => (vault as unknown as Vault).as(callerOf(role)), callerOf }
}

/** Every kind of query that the roles can write without the marker, some of them wrong. */
const QUERIES = [
  'SELECT name FROM people',
  'SELECT * FROM people',
  "SELECT email FROM people WHERE email = 'a'",
  'SELECT svc_id, country FROM people ORDER BY country LIMIT 3',
  'SELECT COUNT(*) AS c FROM people',
  'SELECT a.name FROM people a JOIN people b ON a.email = b.email WHERE b.country IS NULL',
  'SELECT a.name FROM people a LEFT JOIN people b ON a.country = b.country',
  "SELECT name FROM people WHERE name > 'a'",
  'SELECT nonesuch FROM people',
  'SELECT name FROM nonesuch',
  'SELECT name\nFROM people WHERE country = 5',
  'SELECT name FROM people WHERE',
]

/** Returns an answer or an error, as JSON. */
async function textOf(work: () => unknown): Promise<string> {
  try {
    return JSON.stringify(await work())
  } catch (error) {
    if (!isVaultError(error)) throw error
    return JSON.stringify({ message: error.message, details: error.details })
  }
}

describe('a description', () => {
  it('of the caller has their roles, context, limits and credential, without an event', async () => {
    const { vault } = await open()
    const { keyId } = await vault
      .as(OWNER)
      .createCredential({ kind: 'API_KEY', name: 'till 3', roles: ['wide'], verifier: 'a'.repeat(64), expiresAt: 4e12 })
    const before = (await eventsOf(vault)).length
    const caller = {
      actor: keyId,
      actorType: 'SERVICE_ACCOUNT',
      roles: ['wide'],
      purpose: 'audit 7',
      request: { authMode: 'API_KEY', keyID: keyId },
    } as const
    expect(await vault.as(caller).describeCaller()).toEqual({
      vaultID: 'v1',
      actor: keyId,
      actorType: 'SERVICE_ACCOUNT',
      name: 'till 3',
      roles: ['wide'],
      context: { purpose: 'audit 7' },
      authMode: 'API_KEY',
      expiresAt: 4e12,
      can: { audit: false, administer: false },
      limits: { page: 1000, query: 25 },
    })
    expect(await vault.as(OWNER).describeCaller()).toMatchObject({ can: { audit: true, administer: true } })
    await vault.as(OWNER).explainQuery('SELECT name FROM people')
    expect((await eventsOf(vault)).length).toBe(before)
    await expect(vault.as(OWNER).perform('describeCaller', { more: 1 } as never)).rejects.toMatchObject({
      code: 'invalid_request',
    })
    // A transaction reads its own storage.
    await vault.transaction(async (inner) => expect(await inner.as(caller).describeCaller()).not.toHaveProperty('name'))
    await vault.close()
    await expect(vault.as(OWNER).describeSchema()).rejects.toMatchObject({ code: 'failed_precondition' })
  })

  it('of the schema has levels, decisions and the statements behind them', async () => {
    const { as } = await open()
    const { tables } = await as('wide').describeSchema()
    expect(tables).toEqual([
      {
        name: 'people',
        canInsert: false,
        canDelete: false,
        columns: [
          expect.objectContaining({
            name: 'name',
            type: 'STRING',
            tokenKind: 'random',
            masked: true,
            read: {
              decision: 'CONDITIONAL',
              highestLevel: 'MASKED',
              statements: [
                {
                  role: 'wide',
                  position: 3,
                  effect: 'ALLOW',
                  applies: 'SOMETIMES',
                  text: "ALLOW READ ON people.name WHERE country = 'SE' OR country = ctx.country",
                },
              ],
            },
            search: 'DENIED',
            create: 'DENIED',
          }),
          expect.objectContaining({
            name: 'country',
            read: {
              decision: 'ALLOWED',
              level: 'PLAIN_TEXT',
              highestLevel: 'PLAIN_TEXT',
              statements: [{ role: 'wide', position: 1, effect: 'ALLOW', applies: 'ALWAYS' }],
            },
            search: 'ALLOWED',
          }),
        ],
      },
    ])
    const [nurse] = (await as('nurse').describeSchema()).tables
    expect(nurse?.columns.map(({ name, read }) => [name, read.hiddenColumns])).toEqual([
      ['name', 1],
      ['email', 2],
    ])
    expect((await as('none').describeSchema()).tables).toEqual([])
    expect((await as('writer').describeSchema()).tables).toMatchObject([
      { canInsert: true, columns: [{ name: 'name' }, { name: 'email' }] },
    ])
    const all = (await as('VAULT_OWNER').describeSchema()).tables
    expect(all.map(({ name, columns, canDelete }) => [name, columns.length, canDelete])).toEqual([
      ['people', 6, true],
      ['zztable', 1, true],
    ])
    expect(all[0]?.columns.find(({ name }) => name === 'phone')?.read).toMatchObject({ level: 'REDACTED', lacks: 'purpose' })
  })

  it('of the schema finds tokens in prose by their patterns', async () => {
    const { vault } = await open()
    const [{ tokens = {} } = {}] = (
      await vault.as(OWNER).insert('people', [{ fields: { ...people, name: 'Bo', email: 'bo@acme.example', country: 'DE' } }], {
        tokenization: true,
      })
    ).records as { tokens?: Record<string, string> }[]
    const prose = `Call ${tokens.phone}, (${tokens.name}) or write to "${tokens.email}".`
    const columns = (await vault.as(OWNER).describeSchema()).tables[0]?.columns ?? []
    for (const { name, tokenPattern } of columns) {
      if (tokenPattern === undefined) continue
      expect([...prose.matchAll(new RegExp(tokenPattern, 'gu'))].map(([found]) => found)).toContain(tokens[name])
    }
  })
})

describe('a column that a caller knows nothing of', () => {
  it.each(ROLES)('is left out exactly if no request can name it: %s', async (role) => {
    const { vault, as } = await open()
    const session = as(role)
    const [id = ''] = (await vault.as(OWNER).get('people')).records.map((one) => one.id)
    const naming: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
      read: (name) => session.get('people', { fields: [name] }),
      search: (name) => session.get('people', { where: { [name]: 'x' } }),
      insert: (name) => session.insert('people', [{ fields: { [name]: null } }]),
      update: (name) => session.updateOne('people', id, { [name]: null }),
      tokenize: (name) => session.tokenize([{ value: 'x', table: 'people', column: name }]),
      query: (name) => session.query(`SELECT ${name} FROM people`),
      'query where': (name) => session.query(`SELECT svc_id FROM people WHERE ${name} = 'x'`),
    }
    const table = (await session.describeSchema()).tables.find(({ name }) => name === 'people')
    for (const name of Object.keys(people)) {
      const unknown = 'x'.repeat(name.length)
      const answer = async (request: (name: string) => Promise<unknown>, asked: string) =>
        (await textOf(() => request(asked))).replaceAll(`"${asked}`, '"')
      const answers = await Promise.all(
        Object.values(naming).map(async (request) => (await answer(request, name)) !== (await answer(request, unknown))),
      )
      expect([name, answers.includes(true)]).toEqual([name, table?.columns.some((one) => one.name === name) === true])
    }
  })

  it('is in no byte of descriptions, plans and errors of queries, nor are values of statements', async () => {
    const { vault, as, callerOf } = await open()
    for (const role of ROLES) {
      const session = as(role)
      const said = [await textOf(() => session.describeSchema()), await textOf(() => session.describeCaller())]
      for (const query of QUERIES)
        said.push(await textOf(() => session.explainQuery(query)), await textOf(() => session.query(query)))
      expect(
        said.filter((text) => text.includes(MARKER)),
        role,
      ).toEqual([])
    }
    // What the host asks has them: a description that passed it on would be found.
    const nurse = callerOf('nurse')
    expect(JSON.stringify(vault.explain(nurse, 'READ', 'people'))).toContain('zzyes')
    expect(JSON.stringify(vault.explainQuery('SELECT name FROM people', nurse))).toContain('zzcondition')
    expect(await as('nurse').explainQuery('SELECT name FROM people')).toMatchObject({
      hiddenColumns: 3,
      sources: [{ storageFilter: 'what the policy demands', policyColumns: [] }],
    })
    expect(JSON.stringify(vault.explain(callerOf('desk'), 'READ', 'people'))).toContain('zzphone')
    expect(JSON.stringify(vault.explain(callerOf('wide'), 'READ', 'people'))).toContain('zztable.zzother')
  })

  it('is not in the place of an error: it is that of the text', async () => {
    const { as } = await open()
    const refused = (query: string) =>
      as('desk')
        .query(query)
        .catch((error) => error.details)
    expect(await refused('SELECT name,\n  nonesuch FROM people')).toEqual([{ position: { line: 2, column: 3, length: 8 } }])
    expect(await refused('SELECT name FROM nonesuch')).toEqual([
      { table: 'nonesuch', position: { line: 1, column: 18, length: 8 } },
    ])
    expect(await refused("SELECT name FROM people WHERE email = 'a")).toEqual([{ position: { line: 1, column: 39, length: 2 } }])
    expect(await refused('SELECT _name FROM people')).toEqual([{ position: { line: 1, column: 8, length: 5 } }])
    expect(await refused('SELECT name FROM people WHERE name = $12')).toEqual([{ position: { line: 1, column: 38, length: 3 } }])
    expect(await refused('SELECT name FROM people WHERE')).toEqual([{ position: { line: 1, column: 30, length: 0 } }])
    expect(await refused('SELECT name FROM people WHERE name <> 5')).toEqual([{ position: expect.objectContaining({ line: 1 }) }])
  })
})
