/** Records through operations: inserted values are returned at the requested level, on every storage. */
import { expect, it } from 'vitest'
import { onEachStorage } from '../../support/storages/engines.ts'
import { CLERK, OWNER, openPeople } from '../../support/vaults/test-vault.ts'

const ANN = {
  name: 'Ann Svensson',
  email: 'Ann@Acme.example ',
  ssn: '123-45-6789',
  country: 'SE',
  badge: 'B-1',
  born: '1990-02-28',
  salary: 9007199254740993n,
  score: 0.5,
  active: true,
  wakes: '06:30:00',
  seen: '2026-01-02T03:04:05.5+02:00',
  notes: { a: [1, null, { b: 'x\u0000y' }] },
  tags: ['x', 2, null],
} as const

const PLAIN = {
  ...ANN,
  salary: '9007199254740993',
  seen: '2026-01-02T01:04:05.5Z',
}

onEachStorage('records', (engine) => {
  async function session() {
    const vault = await openPeople(engine.fresh().open())
    return vault.as(OWNER)
  }

  it('of every type are returned as inserted', async () => {
    const people = await session()
    const { records } = await people.insert('people', [{ fields: ANN }])
    const { fields } = await people.getOne('people', records[0]?.id ?? '', { redaction: 'PLAIN_TEXT' })
    expect(fields).toEqual(PLAIN)
  })

  it('show each column at its own level: masked with a mask, else redacted', async () => {
    const people = await session()
    const { records } = await people.insert('people', [{ fields: ANN }])
    const id = records[0]?.id ?? ''
    expect((await people.getOne('people', id)).fields).toEqual({
      ...PLAIN,
      name: 'A***********',
      ssn: '*******6789',
      salary: '*REDACTED*',
      score: '*REDACTED*',
      wakes: '*REDACTED*',
    })
    const masked = (await people.getOne('people', id, { redaction: 'MASKED', fields: ['name', 'email', 'born'] })).fields
    expect(masked).toEqual({ name: 'A***********', email: '*REDACTED*', born: '*REDACTED*' })
    const redacted = (await people.getOne('people', id, { redaction: 'REDACTED' })).fields
    expect(new Set(Object.values(redacted))).toEqual(new Set(['*REDACTED*']))
  })

  it('show null at every level, without a token', async () => {
    const people = await session()
    const { records } = await people.insert('people', [{ fields: { name: 'Bo', ssn: null } }], { tokenization: true })
    expect(Object.keys(records[0]?.tokens ?? {})).toEqual(['name'])
    for (const redaction of ['PLAIN_TEXT', 'MASKED', 'REDACTED', 'DEFAULT'] as const) {
      const { fields } = await people.getOne('people', records[0]?.id ?? '', { redaction })
      expect(fields).toMatchObject({ ssn: null, email: null, country: null, tags: null })
    }
  })

  it('return ids in request order, and are read in the requested order', async () => {
    const people = await session()
    const { records } = await people.insert('people', [
      { fields: { name: 'A' } },
      { fields: { name: 'B' } },
      { fields: { name: 'C' } },
    ])
    const [a, b, c] = records.map((record) => record.id)
    const read = await people.get('people', {
      ids: [c ?? '', a ?? '', b ?? '', a ?? ''],
      redaction: 'PLAIN_TEXT',
      fields: ['name'],
    })
    expect(read.records.map((record) => record.fields.name)).toEqual(['C', 'A', 'B', 'A'])
    expect(read.records.map((record) => record.id)).toEqual([c, a, b, a])
  })

  it('are paged by order of insertion, ascending and descending, within limit and offset', async () => {
    const people = await session()
    await people.insert(
      'people',
      Array.from({ length: 30 }, (_, i) => ({ fields: { name: `P${i}` } })),
    )
    const names = async (options: { offset?: number; limit?: number; orderBy?: 'ASCENDING' | 'DESCENDING' }) =>
      (await people.get('people', { ...options, redaction: 'PLAIN_TEXT', fields: ['name'] })).records.map(
        (record) => record.fields.name,
      )
    expect((await names({})).length).toBe(25)
    expect(await names({ offset: 28 })).toEqual(['P28', 'P29'])
    expect(await names({ limit: 2, orderBy: 'DESCENDING' })).toEqual(['P29', 'P28'])
    expect(await names({ offset: 2, limit: 1, orderBy: 'DESCENDING' })).toEqual(['P27'])
    expect(await names({ offset: 99 })).toEqual([])
  })

  it('can be looked up by the value of a unique, searchable or indexed column', async () => {
    const people = await session()
    await people.insert('people', [
      { fields: ANN },
      { fields: { name: 'Bo', country: 'SE', born: '1990-02-28' } },
      { fields: { name: 'Cy', country: 'US' } },
    ])
    const by = async (options: Parameters<typeof people.get<'people'>>[1]) => (await people.get('people', options)).records.length
    expect(await by({ where: { email: '  ANN@acme.EXAMPLE' } })).toBe(1)
    expect(await by({ where: { born: ['1990-02-28', '1990-02-28'] } })).toBe(2)
    expect(await by({ where: { country: ['SE', 'US'] } })).toBe(3)
    expect(await by({ where: { country: ['SE', 'US'] }, limit: 1, offset: 1 })).toBe(1)
    expect(await by({ where: { badge: 'B-1' } })).toBe(1)
    expect(await by({ where: { badge: 'B-2' } })).toBe(0)
  })

  it('have tokens of single cells, which end with their value and survive changes of others', async () => {
    const people = await session()
    const inserted = await people.insert('people', [{ fields: ANN }, { fields: { name: 'Bo', ssn: '123-45-6789' } }], {
      tokenization: true,
    })
    const [first, second] = inserted.records
    const tokens = first?.tokens ?? {}
    expect(Object.keys(tokens)).toEqual(['name', 'email', 'ssn', 'badge'])
    expect(tokens.ssn).not.toBe(second?.tokens.ssn)
    for (const token of Object.values(tokens))
      expect(token).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    const asked = [tokens.badge, tokens.ssn, tokens.name].map((token) => ({
      token: token ?? '',
      redaction: 'PLAIN_TEXT' as const,
    }))
    const { records } = await people.detokenize(asked)
    expect(records.map(({ value, valueType }) => [value, valueType])).toEqual([
      ['B-1', 'STRING'],
      ['123-45-6789', 'STRING'],
      ['Ann Svensson', 'STRING'],
    ])
    const view = await people.getOne('people', first?.id ?? '', { tokenization: true })
    expect(view.tokens).toEqual(tokens)
    expect(view.fields).toEqual(tokens)
    const updated = await people.updateOne('people', first?.id ?? '', { ssn: '999-99-9999' }, { tokenization: true })
    expect(Object.keys(updated.tokens)).toEqual(['ssn'])
    expect(updated.updatedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/)
    await expect(people.detokenize([{ token: tokens.ssn ?? '' }])).rejects.toMatchObject({
      code: 'not_found',
      details: [{ index: 0 }],
    })
    expect((await people.detokenize([{ token: tokens.name ?? '', redaction: 'MASKED' }])).records[0]?.value).toBe('A***********')
    expect((await people.detokenize([{ token: updated.tokens.ssn ?? '' }])).records[0]?.value).toBe('*******9999')
    await people.deleteOne('people', first?.id ?? '')
    await expect(people.detokenize([{ token: tokens.name ?? '' }])).rejects.toMatchObject({ code: 'not_found' })
  })

  it('detokenize past unknown tokens with continueOnError, and fail if all are unknown', async () => {
    const people = await session()
    const { records } = await people.insert('people', [{ fields: ANN }], { tokenization: true })
    const good = records[0]?.tokens.name ?? ''
    const bad = ['', 'nonsense', records[0]?.id ?? '', '00000000-0000-4000-8000-000000000000', good.slice(1)]
    const answer = await people.detokenize(
      [...bad, good].map((token) => ({ token, redaction: 'PLAIN_TEXT' })),
      { continueOnError: true },
    )
    expect(answer.records.slice(0, 5).map((record) => record.error)).toEqual(new Array(5).fill('Token Not Found'))
    expect(answer.records[0]).toEqual({ token: '', valueType: 'NONE', value: '', error: 'Token Not Found', code: 'not_found' })
    expect(answer.records[5]).toEqual({
      token: good,
      valueType: 'STRING',
      value: 'Ann Svensson',
      table: 'people',
      column: 'name',
    })
    await expect(people.detokenize([...bad, good].map((token) => ({ token })))).rejects.toMatchObject({
      code: 'not_found',
      details: [{ index: 0 }, { index: 1 }, { index: 2 }, { index: 3 }, { index: 4 }],
    })
    await expect(
      people.detokenize(
        bad.map((token) => ({ token })),
        { continueOnError: true },
      ),
    ).rejects.toMatchObject({ code: 'not_found' })
  })

  it('reject a duplicate unique value in any spelling, without naming the value', async () => {
    const people = await session()
    await people.insert('people', [{ fields: ANN }])
    const clash = people.insert('people', [{ fields: { name: 'X' } }, { fields: { name: 'Y', email: 'ANN@ACME.EXAMPLE' } }])
    await expect(clash).rejects.toMatchObject({ code: 'conflict', details: [{ table: 'people', column: 'email', index: 1 }] })
    await expect(clash).rejects.not.toThrow(/acme/i)
    const plain = people.insert('people', [{ fields: { name: 'Y', badge: 'B-1' } }])
    await expect(plain).rejects.toMatchObject({ code: 'conflict', details: [{ column: 'badge', index: 0 }] })
    expect((await people.get('people')).records.length).toBe(1)
  })

  it('are updated or inserted by upsert, and the later of two equal keys wins', async () => {
    const people = await session()
    const {
      records: [ann],
    } = await people.insert('people', [{ fields: ANN }], { tokenization: true })
    const { records } = await people.insert(
      'people',
      [
        { fields: { name: 'Bo', email: 'bo@acme.example', salary: 1 } },
        { fields: { name: 'Ann II', email: 'ann@acme.example' } },
        { fields: { name: 'Bob', email: 'BO@acme.example' } },
      ],
      { upsert: 'email', tokenization: true },
    )
    expect(records[1]?.id).toBe(ann?.id)
    expect(records[2]?.id).toBe(records[0]?.id)
    const read = await people.get('people', { redaction: 'PLAIN_TEXT', fields: ['name', 'salary', 'ssn', 'country'] })
    expect(read.records.map((record) => record.fields)).toEqual([
      { name: 'Ann II', salary: PLAIN.salary, ssn: ANN.ssn, country: 'SE' },
      { name: 'Bob', salary: 1, ssn: null, country: null },
    ])
    const still = await people.detokenize([{ token: ann?.tokens.ssn ?? '', redaction: 'PLAIN_TEXT' }])
    expect(still.records[0]?.value).toBe(ANN.ssn)
    const { records: byPlain } = await people.insert('people', [{ fields: { name: 'Ann III', badge: 'B-1' } }], {
      upsert: 'badge',
    })
    expect(byPlain[0]?.id).toBe(ann?.id)
  })

  it('change only in the columns of an update, where null clears a cell', async () => {
    const people = await session()
    const { records } = await people.insert('people', [{ fields: ANN }])
    const id = records[0]?.id ?? ''
    await people.updateOne('people', id, { notes: { fresh: true }, email: null, country: 'US' })
    const { fields } = await people.getOne('people', id, { redaction: 'PLAIN_TEXT' })
    expect(fields).toEqual({ ...PLAIN, notes: { fresh: true }, email: null, country: 'US' })
    await people.insert('people', [{ fields: { name: 'Z', email: 'ann@acme.example' } }])
    await expect(people.updateOne('people', id, { email: 'ann@acme.example' })).rejects.toMatchObject({
      code: 'conflict',
      details: [{ column: 'email' }],
    })
  })

  it('are deleted all or none, and "*" deletes every record', async () => {
    const people = await session()
    const { records } = await people.insert('people', [
      { fields: { name: 'A' } },
      { fields: { name: 'B' } },
      { fields: { name: 'C' } },
    ])
    const [a = '', b = '', c = ''] = records.map((record) => record.id)
    expect(await people.delete('people', [a])).toEqual({ ids: [a] })
    await expect(people.delete('people', [b, a])).rejects.toMatchObject({
      code: 'not_found',
      details: [{ table: 'people', index: 1, id: a }],
    })
    expect((await people.get('people')).records.length).toBe(2)
    expect(await people.deleteOne('people', b)).toEqual({ id: b, deleted: true })
    expect(await people.delete('people', '*')).toEqual({ ids: ['*'] })
    await expect(people.getOne('people', c)).rejects.toMatchObject({
      code: 'not_found',
      details: [{ table: 'people', index: 0, id: c }],
    })
  })

  it('are not found by ids of another table or vault, or by invalid ids', async () => {
    const people = await session()
    const other = await session()
    const {
      records: [order],
    } = await people.insert('orders', [{ fields: { total: 1 } }])
    const {
      records: [foreign],
    } = await other.insert('people', [{ fields: { name: 'A' } }])
    for (const id of [order?.id, foreign?.id, '00000000-0000-4000-8000-000000000000', 'x', '', '*']) {
      await expect(people.getOne('people', id ?? '')).rejects.toMatchObject({
        code: 'not_found',
        message: expect.stringContaining('No record of table'),
      })
    }
  })

  it('are forbidden to callers without a grant', async () => {
    const vault = await openPeople(engine.fresh().open())
    const { records } = await vault.as(OWNER).insert('people', [{ fields: ANN }], { tokenization: true })
    const [id, token] = [records[0]?.id ?? '', records[0]?.tokens.name ?? '']
    const clerk = vault.as(CLERK)
    const tries = [
      () => clerk.insert('people', [{ fields: { name: 'X' } }]),
      () => clerk.get('people'),
      () => clerk.getOne('people', id),
      () => clerk.updateOne('people', id, { name: 'X' }),
      () => clerk.delete('people', '*'),
      () => clerk.deleteOne('people', id),
      () => clerk.detokenize([{ token }]),
    ]
    for (const attempt of tries) await expect(attempt()).rejects.toMatchObject({ code: 'forbidden', grpcCode: 7 })
    expect((await vault.as(OWNER).get('people')).records.length).toBe(1)
  })

  it('commit after a caught failure, which rolls back only itself', async () => {
    const vault = await openPeople(engine.fresh().open())
    await vault.transaction(async (inside) => {
      const people = inside.as(OWNER)
      await people.insert('people', [{ fields: { name: 'A', email: 'one@acme.example' } }])
      const clash = [{ fields: { name: 'B' } }, { fields: { name: 'C', email: 'one@acme.example' } }]
      await expect(people.insert('people', clash)).rejects.toMatchObject({ code: 'conflict' })
      await expect(people.deleteOne('people', 'unknown')).rejects.toMatchObject({ code: 'not_found' })
      await people.insert('people', [{ fields: { name: 'D' } }])
    })
    const { records } = await vault.as(OWNER).get('people', { redaction: 'PLAIN_TEXT', fields: ['name'] })
    expect(records.map((record) => record.fields.name)).toEqual(['A', 'D'])
  })

  it('change all or none in a transaction', async () => {
    const vault = await openPeople(engine.fresh().open())
    const failed = vault.transaction(async (inside) => {
      await inside.as(OWNER).insert('people', [{ fields: ANN }])
      expect((await inside.as(OWNER).get('people')).records.length).toBe(1)
      throw new Error('changed my mind')
    })
    await expect(failed).rejects.toThrow('changed my mind')
    expect((await vault.as(OWNER).get('people')).records.length).toBe(0)
    const id = await vault.transaction(async (inside) => {
      const { records } = await inside.as(OWNER).insert('people', [{ fields: ANN }])
      await inside.as(OWNER).updateOne('people', records[0]?.id ?? '', { name: 'Ann II' })
      return records[0]?.id ?? ''
    })
    expect((await vault.as(OWNER).getOne('people', id, { redaction: 'PLAIN_TEXT', fields: ['name'] })).fields.name).toBe('Ann II')
  })
})
