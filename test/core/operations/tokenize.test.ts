/** Tokenize: stored values to their deterministic tokens. */
import { describe, expect, it, vi } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { column } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { asLoose, insertOne, type LooseVault, openLoose } from '../../support/vaults/open-untyped.ts'
import { CLERK, OWNER } from '../../support/vaults/test-vault.ts'

const name = column.string({ token: 'deterministic', columnGroup: 'names', normalize: ['trim', 'lowercase'] })
const TABLES = {
  people: {
    name,
    alias: name,
    age: column.integer({ token: 'deterministic' }),
    score: column.float({ token: 'deterministic' }),
    active: column.boolean({ token: 'deterministic' }),
    born: column.date({ token: 'deterministic' }),
    wakes: column.time({ token: 'deterministic' }),
    seen: column.datetime({ token: 'deterministic' }),
    notes: column.json({ token: 'deterministic' }),
    tags: column.array({ token: 'deterministic' }),
    phone: column.string({ token: { kind: 'deterministicFormatPreserving', format: 'phone' } }),
    plain: column.string({ encrypted: false, token: 'deterministic' }),
    pointer: column.string({ token: 'random', columnGroup: 'pointers' }),
    card: column.string({ token: { kind: 'formatPreserving', format: 'card' } }),
    pin: column.string({ token: 'transient' }),
    bare: column.string({ columnGroup: 'bare' }),
  },
  pets: { name },
}

const FIELDS = {
  name: 'Ann',
  age: '9007199254740993',
  score: 0.5,
  active: true,
  born: '1990-02-28',
  wakes: '06:30:00',
  seen: '2026-01-02T03:04:05.5+02:00',
  notes: { b: [1, null], a: 'x' },
  tags: ['x', 2],
  phone: '+46 70 123 45 67',
  plain: 'P-1',
}

/** Each value as a wire has it, in a spelling that is not the stored one where there are several. */
const TEXTS: Readonly<Record<keyof typeof FIELDS, string>> = {
  name: ' ANN ',
  age: '9007199254740993',
  score: '5e-1',
  active: 'true',
  born: '1990-02-28',
  wakes: '06:30:00.000',
  seen: '2026-01-02T01:04:05.500Z',
  notes: '{"a":"x","b":[1,null]}',
  tags: '["x", 2]',
  phone: '+46 70 123 45 67',
  plain: 'P-1',
}

onEachStorage('tokenize', (engine) => {
  const open = (): Promise<LooseVault> => openLoose(engine.fresh().open(), TABLES)

  it('returns the tokens of the insert for values of every type, in order', async () => {
    const { vault, session } = await open()
    const { tokens } = await insertOne(session, 'people', FIELDS)
    const columns = Object.keys(FIELDS)
    const valuesIn = (values: object) => columns.map((one) => ({ table: 'people', column: one, value: Reflect.get(values, one) }))
    const asked = valuesIn(FIELDS)
    expect(await session.tokenize(asked)).toEqual({ records: columns.map((one) => ({ token: tokens[one] })) })
    const texts = await vault.as(OWNER).perform('tokenize', { records: valuesIn(TEXTS), areTexts: true })
    expect(texts).toEqual({ records: columns.map((one) => ({ token: tokens[one] })) })
    expect(await session.tokenize([...asked].reverse())).toEqual({
      records: columns.toReversed().map((one) => ({ token: tokens[one] })),
    })
  })

  it('derives no token if a value is missing: a refused list costs the same with values that records have', async () => {
    const { session, ring } = await open()
    await insertOne(session, 'people', FIELDS)
    const digest = vi.spyOn(ring, 'digest')
    const callsFor = async (...values: readonly string[]): Promise<number> => {
      digest.mockClear()
      const asked = values.map((value) => ({ table: 'people', column: 'name', value }))
      await expect(session.tokenize(asked)).rejects.toMatchObject({ code: 'not_found', details: [{ index: 0 }] })
      return digest.mock.calls.length
    }
    expect(await callsFor('Bo', 'Ann')).toBe(await callsFor('Bo'))
  })

  it('returns one token for a column group, for a value in any of its columns', async () => {
    const { session } = await open()
    const pet = await insertOne(session, 'pets', { name: 'Rex' })
    const { tokens } = await insertOne(session, 'people', { alias: 'Ann' })
    const { records } = await session.tokenize([
      { value: 'rex', columnGroup: 'names' },
      { value: 'ANN', columnGroup: 'names', table: '', column: '' },
      { value: 'Rex', table: 'pets', column: 'name' },
      { value: 'Ann', table: 'people', column: 'alias' },
    ])
    expect(records.map(({ token }) => token)).toEqual([pet.tokens.name, tokens.alias, pet.tokens.name, tokens.alias])
    await expect(session.tokenize([{ value: 'Rex', table: 'people', column: 'name' }])).rejects.toMatchObject({
      code: 'not_found',
    })
    await expect(session.tokenize([{ value: 'Ann', table: 'people', column: 'name' }])).rejects.toMatchObject({
      code: 'not_found',
    })
  })

  it('takes table.column as the group of a deterministic column without one', async () => {
    const { session } = await open()
    const { tokens } = await insertOne(session, 'people', FIELDS)
    const asked = Object.entries(FIELDS).filter(([column]) => column !== 'name')
    const { records } = await session.tokenize(asked.map(([column, value]) => ({ value, columnGroup: `people.${column}` })))
    expect(records.map(({ token }) => token)).toEqual(asked.map(([column]) => tokens[column]))
  })

  it('finds rare values beside common ones that fill many pages', async () => {
    const { session } = await open()
    const common = ['Ann', 'Bo', 'Cy'].flatMap((one) => Array.from({ length: 250 }, () => ({ fields: { name: one } })))
    const rare = Array.from({ length: 40 }, (_, i) => `rare ${i}`)
    await session.insert('people', common)
    const stored = await session.insert(
      'people',
      rare.map((one) => ({ fields: { name: one } })),
      { tokenization: true },
    )
    const ask = (values: readonly string[]) =>
      session.tokenize(values.map((value) => ({ value, table: 'people', column: 'name' })))
    const { records } = await ask(['Cy', ...rare, 'ann', 'Bo', 'cy'])
    expect(records.slice(1, -3)).toEqual(stored.records.map(({ tokens }) => ({ token: tokens.name })))
    expect(records[0]).toEqual(records.at(-1))
    await expect(ask(['Cy', ...rare, 'unknown', 'ann'])).rejects.toMatchObject({ code: 'not_found', details: [{ index: 41 }] })
  })

  it('rejects values that are not stored, names their indexes and stores nothing', async () => {
    const { session } = await open()
    const { id } = await insertOne(session, 'people', FIELDS)
    const ask = (...values: string[]) => session.tokenize(values.map((value) => ({ value, table: 'people', column: 'name' })))
    const refused = ask('Ann', 'secret', 'ann', 'other')
    await expect(refused).rejects.toMatchObject({ code: 'not_found', grpcCode: 5, details: [{ index: 1 }, { index: 3 }] })
    await expect(refused).rejects.not.toThrow(/secret|other/)
    await session.updateOne('people', id, { name: 'Bo' })
    await expect(ask('Ann')).rejects.toMatchObject({ code: 'not_found', details: [{ index: 0 }] })
    await expect(ask('Bo')).resolves.toMatchObject({ records: [{ token: expect.any(String) }] })
    await session.delete('people', [id])
    await expect(ask('Bo')).rejects.toMatchObject({ code: 'not_found' })
    expect((await session.get('people')).records).toEqual([])
  })

  it('returns the derived token beside a supplied one, and both detokenize to the value', async () => {
    const { session } = await open()
    const own = await insertOne(session, 'people', { name: 'Ann' }, { tokens: { name: 'mine' }, options: { byot: 'ENABLE' } })
    expect(own.tokens.name).toBe('mine')
    const { records } = await session.tokenize([{ value: 'Ann', table: 'people', column: 'name' }])
    const back = await session.detokenize(
      [{ token: records[0]?.token }, { token: 'mine' }].map((one) => ({ ...one, redaction: 'PLAIN_TEXT' })),
    )
    expect(back.records.map(({ value }) => value)).toEqual(['Ann', 'Ann'])
  })
})

describe('tokenize rejects', () => {
  const at = { table: 'people', column: 'name' }
  const wrong: readonly (readonly [
    why: string,
    asked: unknown,
    answer: { code: string; grpcCode?: number; details?: unknown },
  ])[] = [
    ['no list', undefined, { code: 'invalid_request' }],
    ['an empty list', [], { code: 'invalid_request' }],
    ['more than 1,000 values', new Array(1001).fill({ value: 'x', ...at }), { code: 'limit_exceeded', grpcCode: 8 }],
    ['null', [null], { code: 'invalid_request' }],
    ['null as a value', [{ value: null, ...at }], { code: 'invalid_request', details: [{ index: 0 }] }],
    ['a number in a column of text', [{ value: 5, ...at }], { code: 'unprocessable', details: [{ index: 0 }] }],
    ['a missing value', [at], { code: 'invalid_request' }],
    ['neither group nor column', [{ value: 'x' }], { code: 'invalid_request' }],
    ['both group and column', [{ value: 'x', ...at, columnGroup: 'names' }], { code: 'invalid_request' }],
    ['a group beside a table', [{ value: 'x', table: 'people', columnGroup: 'names' }], { code: 'invalid_request' }],
    ['a group beside a column', [{ value: 'x', column: 'name', columnGroup: 'names' }], { code: 'invalid_request' }],
    ['a table without a column', [{ value: 'x', table: 'people' }], { code: 'invalid_request' }],
    ['a column without a table', [{ value: 'x', column: 'name' }], { code: 'invalid_request' }],
    ['an unknown table', [{ value: 'x', table: 'unknown', column: 'name' }], { grpcCode: 5, code: 'not_found' }],
    [
      'an unknown column',
      [{ value: 'x', table: 'people', column: 'nme' }],
      { code: 'invalid_request', details: [{ column: 'nme' }] },
    ],
    ['an inherited name as a column', [{ value: 'x', table: 'people', column: 'constructor' }], { code: 'invalid_request' }],
    ['an unknown group', [{ value: 'x', columnGroup: 'unknown' }], { code: 'invalid_request' }],
    ['table.column of a column with a group', [{ value: 'Ann', columnGroup: 'people.name' }], { code: 'invalid_request' }],
    ['table.column of no column', [{ value: 'x', columnGroup: 'people.nme' }], { code: 'invalid_request' }],
    ['table.column of pointers', [{ value: 'x', columnGroup: 'people.card' }], { code: 'unprocessable' }],
    ['null as a group', [{ value: 'x', columnGroup: null }], { code: 'invalid_request' }],
    ['a column of pointers', [{ value: 'x', table: 'people', column: 'pointer' }], { code: 'unprocessable', grpcCode: 9 }],
    ['a column of drawn tokens', [{ value: 'x', table: 'people', column: 'card' }], { code: 'unprocessable' }],
    ['a column of transient values', [{ value: 'x', table: 'people', column: 'pin' }], { code: 'unprocessable' }],
    ['a column without tokens', [{ value: 'x', table: 'people', column: 'bare' }], { code: 'unprocessable' }],
    ['a group of pointers', [{ value: 'x', columnGroup: 'pointers' }], { code: 'unprocessable' }],
    ['a group without tokens', [{ value: 'x', columnGroup: 'bare' }], { code: 'unprocessable' }],
    [
      'text that is not a value of the type',
      [{ value: 'secret', table: 'people', column: 'age' }],
      { code: 'unprocessable', details: [{ index: 0 }] },
    ],
    [
      'an invalid item after a valid one',
      [{ value: 'Ann', ...at }, { value: 'x' }],
      { code: 'invalid_request', details: [{ index: 1 }] },
    ],
  ]

  it.each(wrong)('%s', async (_why, asked, answer) => {
    const { session } = await openLoose(memoryStorage(), TABLES)
    await insertOne(session, 'people', FIELDS)
    const refused = session.tokenize(asked as never)
    await expect(refused).rejects.toMatchObject({ name: 'VaultError', ...answer })
    await expect(refused).rejects.not.toThrow(/secret/)
  })

  it('a value that does not match the format like a value that is not stored', async () => {
    const { session } = await openLoose(memoryStorage(), TABLES)
    await expect(session.tokenize([{ value: 'x', table: 'people', column: 'phone' }])).rejects.toMatchObject({
      code: 'not_found',
    })
  })

  it('callers without a grant before it looks up the value', async () => {
    const { vault, session } = await openLoose(memoryStorage(), TABLES)
    await insertOne(session, 'people', FIELDS)
    const clerk = asLoose(vault.as(CLERK))
    for (const value of ['Ann', 'unknown']) {
      await expect(clerk.tokenize([{ value, ...at }])).rejects.toMatchObject({ code: 'forbidden' })
      for (const columnGroup of ['names', 'people.plain'])
        await expect(clerk.tokenize([{ value, columnGroup }])).rejects.toMatchObject({ code: 'forbidden' })
    }
  })
})
