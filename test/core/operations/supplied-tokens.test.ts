/** Supplied tokens: alone or mixed with generated ones, unique, and valid exactly as long as their value. */
import { expect, it } from 'vitest'
import { TOKENS, TRANSIENTS } from '../../../src/core/schema/system-tables.ts'
import { column } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import {
  type Cells,
  insertOne,
  type LooseSession,
  type LooseVault,
  openLoose,
  valuesOf,
} from '../../support/vaults/open-untyped.ts'

const PLAIN = { redaction: 'PLAIN_TEXT' } as const
const TABLES = {
  people: {
    email: column.string({ unique: true, normalize: ['lowercase'], ...PLAIN }),
    pointer: column.string({ token: 'random', ...PLAIN }),
    same: column.string({ token: 'deterministic', ...PLAIN }),
    card: column.string({ token: { kind: 'formatPreserving', format: 'card' }, ...PLAIN }),
    phone: column.string({ token: { kind: 'deterministicFormatPreserving', format: 'phone' }, ...PLAIN }),
    pin: column.integer({ token: 'transient', ...PLAIN }),
    badge: column.string({ encrypted: false, token: 'random', ...PLAIN }),
    kept: column.string({ token: { kind: 'random', stable: true }, ...PLAIN }),
    bare: column.string(PLAIN),
  },
  pets: { name: column.string({ token: 'random', ...PLAIN }) },
}

const VALUES = {
  pointer: 'Ann',
  same: 'Svensson',
  card: '4000056655665556',
  phone: '+46 70 123 45 67',
  pin: 1234,
  badge: 'B-1',
  kept: 'K-1',
}
/** Another value for each column. */
const NEXT = {
  pointer: 'Bo',
  same: 'Berg',
  card: '4000056655665557',
  phone: '+46 70 123 45 68',
  pin: 4321,
  badge: 'B-2',
  kept: 'K-2',
}
const KINDS = Object.keys(VALUES)
const TEXTS = Object.values(VALUES).map(String)
/** A supplied token for each column. */
const tokensOf = (mark: string): Record<string, string> => Object.fromEntries(KINDS.map((name) => [name, `${name} ${mark}`]))
const ENABLE = { byot: 'ENABLE' }

const bring = (session: LooseSession, fields: Cells, tokens: Cells) =>
  insertOne(session, 'people', fields, { tokens, options: ENABLE })

onEachStorage('supplied tokens', (engine) => {
  const open = (): Promise<LooseVault> => openLoose(engine.fresh().open(), TABLES)

  it('of every kind are returned, shown by tokenization, and detokenize to their values', async () => {
    const { session } = await open()
    const tokens = tokensOf('one')
    const stored = await bring(session, VALUES, tokens)
    expect(stored.tokens).toEqual(tokens)
    expect((await session.getOne('people', stored.id, { tokenization: true })).tokens).toEqual(tokens)
    expect(await valuesOf(session, Object.values(tokens))).toEqual(TEXTS)
    const { records } = await session.detokenize([{ token: tokens.pin }])
    expect(records[0]).toEqual({
      token: 'pin one',
      valueType: 'INTEGER',
      value: '1234',
      table: 'people',
      column: 'pin',
    })
  })

  it('can be mixed with generated ones in one record and in one request', async () => {
    const { session } = await open()
    const { records } = await session.insert('people', [{ fields: VALUES, tokens: { card: 'my card' } }, { fields: VALUES }], {
      tokenization: true,
      ...ENABLE,
    })
    const [mixed, plain] = records
    expect(mixed?.tokens.card).toBe('my card')
    expect(Object.keys(mixed?.tokens ?? {})).toEqual(KINDS)
    expect(plain?.tokens.card).toMatch(/^[0-9]{16}$/)
    expect(mixed?.tokens.same).toBe(plain?.tokens.same)
    expect(await valuesOf(session, Object.values(mixed?.tokens ?? {}))).toEqual(TEXTS)
  })

  it('end with their own value, and can then be supplied again', async () => {
    const { session, storage } = await open()
    const tokens = tokensOf('one')
    const { id } = await bring(session, { ...VALUES, bare: 'x' }, tokens)
    await session.updateOne('people', id, { bare: 'y', email: 'a@acme.example' })
    expect(await valuesOf(session, Object.values(tokens))).toEqual(TEXTS)
    expect((await session.updateOne('people', id, VALUES, { tokenization: true })).tokens).toEqual(tokens)
    expect(await valuesOf(session, Object.values(tokens))).toEqual(TEXTS)
    const next = Object.values(NEXT)
    for (const [k, name] of KINDS.entries()) {
      const fresh = await session.updateOne('people', id, { [name]: next[k] }, { tokenization: true })
      expect(fresh.tokens[name] === tokens[name]).toBe(name === 'kept')
      const alive = TEXTS.map((text, place) => {
        if (place > k) return text
        return KINDS[place] === 'kept' ? String(next[place]) : undefined
      })
      expect(await valuesOf(session, Object.values(tokens))).toEqual(alive)
    }
    await session.updateOne('people', id, { kept: null })
    expect(await valuesOf(session, [tokens.kept])).toEqual([undefined])
    const remembered = await storage.find(TOKENS.name, { kind: 'all' }, { order: 'asc', limit: 100 })
    expect(remembered.length).toBe(1) // Only the drawn token of the card.
    const other = await bring(session, VALUES, tokens)
    expect(other.tokens).toEqual(tokens)
    expect(await valuesOf(session, Object.values(tokens))).toEqual(TEXTS)
  })

  it('end with their record, except those of transient values', async () => {
    const { session, clock, vault } = await open()
    const tokens = tokensOf('one')
    const { id } = await bring(session, VALUES, tokens)
    await session.delete('people', [id])
    const gone = KINDS.map((name) => (name === 'pin' ? '1234' : undefined))
    expect(await valuesOf(session, Object.values(tokens))).toEqual(gone)
    const { pin: _taken, ...free } = tokens
    await bring(session, VALUES, free)
    await expect(bring(session, VALUES, { pin: tokens.pin })).rejects.toMatchObject({
      code: 'conflict',
      details: [{ column: 'pin' }],
    })
    await session.delete('people', '*')
    expect(await valuesOf(session, Object.values(tokens))).toEqual(gone)
    clock.ms += 60 * 60_000
    expect(await valuesOf(session, [tokens.pin])).toEqual([undefined])
    await vault.sweep()
    expect((await bring(session, VALUES, tokens)).tokens).toEqual(tokens)
  })

  it('that are in use throw conflict, name column and record, and store nothing', async () => {
    const { session, storage } = await open()
    const { tokens } = await insertOne(session, 'people', VALUES)
    await bring(session, {}, {})
    await bring(session, { pointer: 'Bo' }, { pointer: 'taken' })
    const before = await session.get('people')
    const clashes: [string, string][] = [
      ['taken', 'of this column'],
      [tokens.card ?? '', 'drawn for another value'],
    ]
    for (const [token] of clashes) {
      for (const name of ['pointer', 'card', 'pin', 'badge']) {
        const value = name === 'pin' ? 1 : name === 'card' ? '4242424242424242' : 'Cy'
        const refused = session.insert(
          'people',
          [{ fields: VALUES }, { fields: { [name]: value }, tokens: { [name]: token } }],
          ENABLE,
        )
        await expect(refused).rejects.toMatchObject({ code: 'conflict', details: [{ table: 'people', column: name, index: 1 }] })
        await expect(refused).rejects.not.toThrow(token)
      }
    }
    const pets = session.insert('pets', [{ fields: { name: 'Rex' }, tokens: { name: 'taken' } }], ENABLE)
    await expect(pets).rejects.toMatchObject({ code: 'conflict', details: [{ table: 'pets', column: 'name', index: 0 }] })
    expect(await session.get('people')).toEqual(before)
    expect((await session.get('pets')).records).toEqual([])
    expect((await storage.find(TRANSIENTS.name, { kind: 'all' }, { order: 'asc', limit: 10 })).length).toBe(1)
  })

  it('given twice in one request or record throw conflict', async () => {
    const { session } = await open()
    const twice = ['a', 'b'].map((pointer) => ({ fields: { pointer }, tokens: { pointer: 'same' } }))
    await expect(session.insert('people', twice, ENABLE)).rejects.toMatchObject({
      code: 'conflict',
      details: [{ column: 'pointer', index: 1 }],
    })
    const both = session.insert(
      'people',
      [{ fields: { pointer: 'a', badge: 'b' }, tokens: { pointer: 'same', badge: 'same' } }],
      ENABLE,
    )
    await expect(both).rejects.toMatchObject({ code: 'conflict', details: [{ column: 'badge', index: 0 }] })
    expect((await session.get('people')).records).toEqual([])
  })

  it('can be the deterministic token of a value, for that value only', async () => {
    const { session } = await open()
    const { id, tokens } = await insertOne(session, 'people', { same: 'Svensson' })
    const own = await bring(session, { same: 'Svensson' }, { same: tokens.same })
    expect(own.tokens.same).toBe(tokens.same)
    await expect(bring(session, { same: 'Berg' }, { same: tokens.same })).rejects.toMatchObject({ code: 'unprocessable' })
    await session.delete('people', [id])
    expect(await valuesOf(session, [tokens.same])).toEqual(['Svensson'])
  })

  it('in a form that a deterministic column makes throw unprocessable alike, whether a value has that token or not', async () => {
    const { session } = await open()
    const { tokens } = await insertOne(session, 'people', VALUES)
    const unused = { same: '0c2f3a5e-9d1b-8c7a-a6e5-1f2e3d4c5b6a', phone: '+46 70 999 88 77' }
    for (const form of ['same', 'phone'] as const) {
      const outcomes = [tokens[form] ?? '', unused[form]].flatMap((token) => [
        session.insert('people', [{ fields: { pointer: 'Cy' }, tokens: { pointer: token } }], ENABLE),
        session.insert('pets', [{ fields: { name: 'Rex' }, tokens: { name: token } }], ENABLE),
      ])
      const errors = await Promise.all(outcomes.map((outcome) => outcome.then(String, (error: unknown) => error)))
      expect(errors[0]).toMatchObject({ code: 'unprocessable', details: [{ table: 'people', column: 'pointer', index: 0 }] })
      expect(errors[1]).toMatchObject({ code: 'unprocessable', details: [{ table: 'pets', column: 'name', index: 0 }] })
      expect(String(errors[0])).not.toContain(tokens[form])
      expect(errors.slice(2)).toEqual(errors.slice(0, 2))
    }
    expect((await session.get('people')).records).toHaveLength(1)
    expect((await session.get('pets')).records).toEqual([])
  })

  it('can be the deterministic token of a value in a format, for that value only and in any spelling of it', async () => {
    const { session } = await open()
    const { tokens } = await insertOne(session, 'people', { phone: VALUES.phone })
    const own = await bring(session, { phone: VALUES.phone }, { phone: tokens.phone })
    expect(own.tokens.phone).toBe(tokens.phone)
    const other = bring(session, { phone: '+46 70 765 43 21' }, { phone: tokens.phone })
    await expect(other).rejects.toMatchObject({ code: 'unprocessable', details: [{ column: 'phone' }] })
    // A value without a token of the format is refused for its value, as without a supplied token.
    const unfit = bring(session, { phone: 'none' }, { phone: tokens.phone })
    await expect(unfit).rejects.toMatchObject({ code: 'unprocessable' })
  })

  it('in an update follow the same rules, and can repeat those of the record', async () => {
    const { session } = await open()
    const { id } = await bring(session, VALUES, tokensOf('one'))
    const off = session.updateOne('people', id, { pointer: 'Bo' }, { tokens: { pointer: 'two' } })
    await expect(off).rejects.toMatchObject({ code: 'unprocessable', details: [{ table: 'people' }] })
    const again = { ...VALUES, pointer: 'Bo' }
    const strict = { tokens: tokensOf('one'), tokenization: true, byot: 'ENABLE_STRICT' }
    const kept = await session.updateOne('people', id, again, strict)
    expect(kept.tokens).toEqual(tokensOf('one'))
    expect(await valuesOf(session, Object.values(tokensOf('one')))).toEqual(['Bo', ...TEXTS.slice(1)])
    const lacking = session.updateOne(
      'people',
      id,
      { pointer: 'Cy', badge: 'B-2' },
      { tokens: { badge: 'x' }, byot: 'ENABLE_STRICT' },
    )
    await expect(lacking).rejects.toMatchObject({ code: 'unprocessable', details: [{ column: 'pointer' }] })
    await bring(session, { pointer: 'Dy' }, { pointer: 'taken' })
    const taken = session.updateOne('people', id, { card: '4242424242424242' }, { tokens: { card: 'taken' }, ...ENABLE })
    await expect(taken).rejects.toMatchObject({ code: 'conflict', details: [{ column: 'card' }] })
    expect(await valuesOf(session, Object.values(tokensOf('one')))).toEqual(['Bo', ...TEXTS.slice(1)])
    const two = await session.updateOne('people', id, VALUES, { tokens: tokensOf('two'), tokenization: true, ...ENABLE })
    expect(two.tokens).toEqual(tokensOf('two'))
    expect(await valuesOf(session, [...Object.values(tokensOf('one')), ...Object.values(tokensOf('two'))])).toEqual([
      ...KINDS.map(() => undefined),
      ...TEXTS,
    ])
  })

  it('in an upsert apply to the existing record, and the later of two wins', async () => {
    const { session } = await open()
    const email = 'ann@acme.example'
    const first = await bring(session, { ...VALUES, email }, tokensOf('one'))
    const upsert = { tokenization: true, upsert: 'email', ...ENABLE }
    const again = await session.insert('people', [{ fields: { ...VALUES, email }, tokens: tokensOf('one') }], upsert)
    expect(again.records[0]).toEqual({ id: first.id, tokens: tokensOf('one') })
    const { records } = await session.insert(
      'people',
      [
        { fields: { email, pointer: 'early', badge: 'B-2' }, tokens: { pointer: 'early token', badge: 'badge two' } },
        { fields: { email: 'new@acme.example', pointer: 'other' }, tokens: { pointer: 'other token' } },
        { fields: { email: email.toUpperCase(), pointer: 'late' }, tokens: { pointer: 'late token' } },
        { fields: { email: 'new@acme.example', pointer: 'newest' } },
      ],
      upsert,
    )
    expect(records.map(({ id }) => id)).toEqual([first.id, records[1]?.id, first.id, records[1]?.id])
    expect(records[0]?.tokens).toMatchObject({ pointer: 'late token', badge: 'badge two' })
    const asked = ['early token', 'late token', 'badge two', 'other token', records[1]?.tokens.pointer, 'pointer one', 'card one']
    expect(await valuesOf(session, asked)).toEqual([undefined, 'late', 'B-2', undefined, 'newest', undefined, VALUES.card])
  })

  it('that are in use on the column of an upsert throw conflict at once, for new and for existing records', async () => {
    const { session } = await openLoose(engine.fresh().open(), {
      people: { email: column.string({ unique: true, token: 'random' }) },
    })
    await session.insert('people', [{ fields: { email: 'a' }, tokens: { email: 'taken' } }, { fields: { email: 'b' } }], ENABLE)
    for (const email of ['new', 'b']) {
      const refused = session.insert('people', [{ fields: { email }, tokens: { email: 'taken' } }], {
        ...ENABLE,
        upsert: 'email',
      })
      await expect(refused).rejects.toMatchObject({ code: 'conflict', details: [{ column: 'email', index: 0 }] })
      await expect(refused).rejects.toThrow('token for column "email"')
    }
  })

  it('can be exchanged between two records in one upsert', async () => {
    const { session } = await open()
    const records = (one: string, two: string) => [
      { fields: { email: 'a@acme.example', pointer: 'A' }, tokens: { pointer: one } },
      { fields: { email: 'b@acme.example', pointer: 'B' }, tokens: { pointer: two } },
    ]
    await session.insert('people', records('one', 'two'), ENABLE)
    await session.insert('people', records('two', 'one'), { upsert: 'email', ...ENABLE })
    expect(await valuesOf(session, ['one', 'two'])).toEqual(['B', 'A'])
  })

  it('roll back with their transaction', async () => {
    const { session, vault } = await open()
    const failed = vault.transaction(async (inside) => {
      const rows: readonly { fields: never; tokens: never }[] = [{ fields: VALUES as never, tokens: tokensOf('one') as never }]
      await inside.as({ actor: 'owner', actorType: 'USER', roles: ['VAULT_OWNER'] }).insert('people', rows, { byot: 'ENABLE' })
      throw new Error('changed my mind')
    })
    await expect(failed).rejects.toThrow('changed my mind')
    expect(await valuesOf(session, Object.values(tokensOf('one')))).toEqual(KINDS.map(() => undefined))
    expect((await bring(session, VALUES, tokensOf('one'))).tokens).toEqual(tokensOf('one'))
  })
})
