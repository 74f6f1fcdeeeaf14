/** getByTokens: the record of each token at the requested level, or an error for tokens without a record. */
import { expect, it } from 'vitest'
import { column, mask } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { asLoose, insertOne, type LooseVault, openLoose } from '../../support/vaults/open-untyped.ts'
import { CLERK, OWNER } from '../../support/vaults/test-vault.ts'

const TABLES = {
  people: {
    name: column.string({ token: 'random', redaction: 'MASKED', mask: mask.keepFirst(1) }),
    email: column.string({ token: 'deterministic', redaction: 'PLAIN_TEXT' }),
    card: column.string({ token: { kind: 'formatPreserving', format: 'card' } }),
    phone: column.string({ token: { kind: 'deterministicFormatPreserving', format: 'phone' }, redaction: 'PLAIN_TEXT' }),
    pin: column.string({ token: 'transient', redaction: 'PLAIN_TEXT' }),
    age: column.integer({ redaction: 'PLAIN_TEXT' }),
  },
  pets: { name: column.string({ token: 'random', redaction: 'PLAIN_TEXT' }) },
}
const ANN = {
  name: 'Ann',
  email: 'ann@acme.example',
  card: '4000056655665556',
  phone: '+46 70 123 45 67',
  age: '9007199254740993',
}
const NOT_FOUND = 'Token Not Found'

onEachStorage('getByTokens', (engine) => {
  const open = (): Promise<LooseVault> => openLoose(engine.fresh().open(), TABLES)

  it('returns one record per token of any kind, in order, with repeats', async () => {
    const { session } = await open()
    const ann = await insertOne(session, 'people', ANN)
    const rex = await insertOne(session, 'pets', { name: 'Rex' })
    const own = await insertOne(session, 'people', { name: 'Bo' }, { tokens: { name: 'mine' }, options: { byot: 'ENABLE' } })
    const asked = [rex.tokens.name, ann.tokens.phone, 'mine', ann.tokens.name, ann.tokens.card, ann.tokens.email, ann.tokens.name]
    const { records } = await session.getByTokens(asked, { redaction: 'PLAIN_TEXT' })
    const [pet, bo] = [
      { id: rex.id, table: 'pets', fields: { name: 'Rex' } },
      { id: own.id, table: 'people', fields: { name: 'Bo', email: null, card: null, phone: null, age: null } },
    ]
    const one = { id: ann.id, table: 'people', fields: ANN }
    const found = [pet, one, bo, one, one, one, one]
    const columns = ['name', 'phone', 'name', 'name', 'card', 'email', 'name']
    expect(records).toEqual(
      found.map((record, place) => ({ token: asked[place], column: columns[place], ...record, levels: {} })),
    )
  })

  it('returns for a list of tokens what it returns for each of them alone, whatever a condition on rows shows', async () => {
    const policy = {
      adults: ['ALLOW DETOKENIZATION, READ ON people.* WITH REDACTION = PLAIN_TEXT WHERE age > 17', 'ALLOW READ ON people.name'],
      pets: ['ALLOW DETOKENIZATION ON people.*', 'ALLOW DETOKENIZATION, READ ON pets.*'],
    }
    const { session, vault } = await openLoose(engine.fresh().open(), TABLES, { policy })
    const asked: unknown[] = ['unknown']
    for (let age = 15; age < 21; age++) {
      const { tokens } = await insertOne(session, 'people', { ...ANN, name: `Ann ${age}`, age, card: null, pin: '1234' })
      const pet = await insertOne(session, 'pets', { name: `Rex ${age}` })
      asked.push(tokens.name, pet.tokens.name, tokens.pin, tokens.email, tokens.name)
    }
    for (const roles of [['adults'], ['adults', 'pets'], ['pets']]) {
      const reader = asLoose(vault.as({ ...CLERK, roles }))
      for (const options of [{}, { columnOnly: true }, { redaction: 'MASKED' as const }]) {
        const alone = await Promise.all(asked.map((token) => reader.getByTokens([token], options)))
        const { records } = await reader.getByTokens(asked, options)
        expect(records).toEqual(alone.flatMap((one) => one.records))
        expect(records.some(({ error }) => error === undefined)).toBe(true)
      }
    }
  })

  it('shows fields at the requested level, or at their own by default', async () => {
    const { session } = await open()
    const { tokens } = await insertOne(session, 'people', ANN)
    const fields = async (options?: object) => (await session.getByTokens([tokens.email], { ...options })).records[0]?.fields
    const own = { ...ANN, name: 'A**', card: '*REDACTED*' }
    expect(await fields()).toEqual(own)
    expect(await fields({ redaction: 'DEFAULT' })).toEqual(own)
    expect(await fields({ redaction: 'MASKED' })).toMatchObject({ name: 'A**', email: '*REDACTED*', age: '*REDACTED*' })
    expect(new Set(Object.values((await fields({ redaction: 'REDACTED' })) ?? {}))).toEqual(new Set(['*REDACTED*']))
  })

  it('returns the first existing record of a shared deterministic token', async () => {
    const { session } = await open()
    const one = await insertOne(session, 'people', ANN)
    const two = await insertOne(session, 'people', { ...ANN, name: 'Bo' })
    const ids = async () => (await session.getByTokens([one.tokens.email, one.tokens.phone])).records.map(({ id }) => id)
    expect(await ids()).toEqual([one.id, one.id])
    await session.delete('people', [one.id])
    expect(await ids()).toEqual([two.id, two.id])
  })

  it('returns only an error for a token without a record, even if there is no other token', async () => {
    const { session } = await open()
    const { id, tokens } = await insertOne(session, 'people', { ...ANN, pin: '1234' })
    const bad = ['', 'x', id, tokens.pin ?? '', tokens.name?.slice(1) ?? '', 'x'.repeat(256)]
    expect(await session.getByTokens(bad)).toEqual({
      records: bad.map((token) => ({ token, fields: {}, levels: {}, error: NOT_FOUND, code: 'not_found' })),
    })
    await session.delete('people', [id])
    const dead = Object.values(tokens)
    expect(await session.getByTokens(dead)).toEqual({
      records: dead.map((token) => ({ token, fields: {}, levels: {}, error: NOT_FOUND, code: 'not_found' })),
    })
  })

  it('returns an error only for the tokens of a record that was tampered with', async () => {
    const { session, storage } = await open()
    const ann = await insertOne(session, 'people', ANN)
    const bo = await insertOne(session, 'people', { name: 'Bo' })
    const [row] = await storage.find('records_1_people', { kind: 'all' }, { order: 'asc', limit: 1 })
    if (row === undefined) throw new Error('the record is not where it should be')
    await storage.update('records_1_people', [{ id: row.id, version: row.version, set: { body: new Uint8Array(64) } }])
    const { records } = await session.getByTokens([ann.tokens.name, bo.tokens.name], { redaction: 'PLAIN_TEXT' })
    expect(records[0]).toEqual({
      token: ann.tokens.name,
      fields: {},
      levels: {},
      error: expect.stringContaining('failed authentication'),
      code: 'data_loss',
    })
    expect(records[1]).toMatchObject({ id: bo.id, fields: { name: 'Bo' } })
  })

  it('returns the value of the token alone with columnOnly, transient or not', async () => {
    const { session, vault } = await open()
    const { id, tokens } = await insertOne(session, 'people', { ...ANN, pin: '1234' })
    const asked = [tokens.name ?? '', tokens.pin ?? '', 'x', tokens.email ?? '']
    const read = async (options: object) => (await session.getByTokens(asked, { columnOnly: true, ...options })).records
    expect(await read({})).toEqual([
      { token: asked[0], id, table: 'people', column: 'name', fields: { name: 'A**' }, levels: { name: 'MASKED' } },
      { token: asked[1], table: 'people', column: 'pin', fields: { pin: '1234' }, levels: {} },
      { token: 'x', fields: {}, levels: {}, error: NOT_FOUND, code: 'not_found' },
      { token: asked[3], id, table: 'people', column: 'email', fields: { email: ANN.email }, levels: {} },
    ])
    const redacted = await read({ redaction: 'REDACTED' })
    expect(redacted.map(({ fields }) => Object.values(fields)[0])).toEqual(['*REDACTED*', '*REDACTED*', undefined, '*REDACTED*'])
    await expect(read({ onLowered: 'throw', redaction: 'DEFAULT' })).rejects.toMatchObject({
      code: 'forbidden',
      details: [{ table: 'people', column: 'name' }],
    })
    await expect(read({ columnOnly: 1 })).rejects.toMatchObject({ code: 'invalid_request' })
    expect((await vault.verifyAudit()).ok).toBe(true)
  })

  it('throws for the first token that is not found with onMissing, and records the failure', async () => {
    const { session, vault } = await open()
    const { tokens } = await insertOne(session, 'people', ANN)
    const options = { onMissing: 'throw' } as const
    const whole = await session.getByTokens([tokens.name ?? ''], options)
    expect(whole).toEqual(await session.getByTokens([tokens.name ?? '']))
    await expect(session.getByTokens([tokens.name ?? '', 'x', 'y'], options)).rejects.toMatchObject({
      code: 'not_found',
      message: 'Get by tokens failed. Token Not Found',
      details: [{ index: 1 }],
    })
    const { events } = await vault
      .as(OWNER)
      .listEvents({ filterOps: { accountID: vault.accountId, actionType: 'GET_BY_TOKENS' }, limit: 1 })
    expect(events.map(({ response }) => response.code)).toEqual([404])
    await expect(session.getByTokens(['x'], { onMissing: 'skip' as 'throw' })).rejects.toMatchObject({ code: 'invalid_request' })
  })

  it('needs READ of the column itself with columnOnly, as detokenize does', async () => {
    const policy = {
      names: ['ALLOW DETOKENIZATION ON people.*', 'ALLOW READ ON people.name WITH REDACTION = PLAIN_TEXT'],
      pins: ['ALLOW DETOKENIZATION, READ ON people.pin WITH REDACTION = MASKED'],
    }
    const { session, vault } = await openLoose(engine.fresh().open(), TABLES, { policy })
    const { tokens } = await insertOne(session, 'people', { ...ANN, pin: '1234' })
    const asked = [tokens.name ?? '', tokens.email ?? '', tokens.pin ?? '']
    const fields = async (role: string) => {
      const { records } = await asLoose(vault.as({ ...CLERK, roles: [role] })).getByTokens(asked, { columnOnly: true })
      return records.map((record) => record.fields)
    }
    expect(await fields('names')).toEqual([{ name: 'A**' }, {}, {}])
    expect(await fields('pins')).toEqual([{}, {}, { pin: '*REDACTED*' }])
  })

  it('rejects invalid requests by their code, and callers without a grant before any lookup', async () => {
    const { session, vault } = await open()
    const { tokens } = await insertOne(session, 'people', ANN)
    const wrong: readonly (readonly [readonly unknown[], object, object])[] = [
      [[], {}, { code: 'invalid_request' }],
      [[5], {}, { code: 'invalid_request', details: [{ index: 0 }] }],
      [['x', null], {}, { code: 'invalid_request', details: [{ index: 1 }] }],
      [['x'.repeat(1_000_000)], {}, { code: 'limit_exceeded', grpcCode: 8 }],
      [new Array(1001).fill('x'), {}, { code: 'limit_exceeded', grpcCode: 8 }],
      [['x'], { redaction: 'masked' }, { code: 'invalid_request' }],
      [['x'], { level: 'MASKED' }, { code: 'invalid_request' }],
    ]
    for (const [asked, options, answer] of wrong) {
      await expect(session.getByTokens(asked, { ...options })).rejects.toMatchObject({ name: 'VaultError', ...answer })
    }
    for (const token of [tokens.name, 'unknown']) {
      await expect(asLoose(vault.as(CLERK)).getByTokens([token])).rejects.toMatchObject({ code: 'forbidden' })
    }
  })
})
