/** What a value finds: itself and its other spellings, never another value. Ids and tokens find their record in capitals too. */
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { column, createVault, defineSchema } from '../../../src/index.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const searchable = { searchable: true, redaction: 'PLAIN_TEXT', token: 'deterministic' } as const
const schema = defineSchema({
  things: {
    j: column.json(searchable),
    list: column.array(searchable),
    flag: column.boolean(searchable),
    score: column.float(searchable),
    number: column.integer(searchable),
    seen: column.datetime(searchable),
    born: column.date({ encrypted: false, index: true }),
  },
  people: {
    name: column.string({ redaction: 'PLAIN_TEXT', token: 'random' }),
    digits: column.string({ unique: true, normalize: ['digits'], redaction: 'PLAIN_TEXT' }),
    phone: column.string({ ...searchable, normalize: ['trim', 'phone'] }),
    email: column.string({ unique: true, normalize: ['trim', 'email'], redaction: 'PLAIN_TEXT' }),
    mobile: column.string({ token: { kind: 'deterministicFormatPreserving', format: 'phone' }, normalize: ['phone'] }),
    loose: column.string({ normalize: ['digits'], redaction: 'PLAIN_TEXT' }),
  },
})

onEachStorage('look-ups', (engine) => {
  const open = async () => {
    const place = engine.fresh()
    const options = { id: 'v1', schema, keys: localKeys({ key: TEST_SECRET }) }
    const vault = await createVault({ ...options, storage: place.open() })
    return { vault, owner: vault.as(OWNER), place }
  }

  it('find a JSON text and not the value that it spells', async () => {
    const { owner } = await open()
    const values = ['1', 1, 'true', true, '[1]', [1], '{"a":1}', { a: 1 }, '"1"']
    await owner.insert(
      'things',
      values.map((j) => ({ fields: { j } })),
    )
    for (const j of values) {
      const where = { j: [j] }
      expect((await owner.get('things', { where })).records.map(({ fields }) => fields.j)).toEqual([j])
      const { records } = await owner.updateWhere('things', where, { number: 7 })
      expect(records).toHaveLength(1)
      expect((await owner.getOne('things', records[0]?.id ?? '', { tokenization: true })).tokens.j).toBe(
        (await owner.tokenize([{ value: j, table: 'things', column: 'j' }])).records[0]?.token,
      )
    }
    expect((await owner.deleteWhere('things', { j: ['1', '{"a":1}'] })).ids).toHaveLength(2)
    const { records } = await owner.get('things')
    expect(records.map(({ fields }) => fields.j)).toEqual([1, 'true', true, '[1]', [1], { a: 1 }, '"1"'])
  })

  it('take values of each type as an insert does, and refuse their texts', async () => {
    const { owner } = await open()
    const at = new Date(1_800_000_000_000)
    const [{ id = '' } = {}] = (
      await owner.insert('things', [
        { fields: { list: [1], flag: true, score: 0.5, number: 2n ** 60n, seen: at, born: '2000-02-29' } },
      ])
    ).records
    const found = [
      ['list', [1]],
      ['flag', true],
      ['score', 0.5],
      ['number', 2n ** 60n],
      ['number', String(2n ** 60n)],
      ['seen', at],
      ['seen', '2027-01-15T09:00:00+01:00'],
      ['born', '2000-02-29'],
    ] as const
    for (const [name, value] of found) {
      const where = { [name]: [value] }
      expect((await owner.get('things', { where: where as never })).records.map((one) => one.id)).toEqual([id])
      if (name !== 'born')
        expect((await owner.tokenize([{ value, table: 'things', column: name } as never])).records).toHaveLength(1)
    }
    for (const [name, value] of [
      ['list', '[1]'],
      ['flag', 'true'],
      ['score', '0.5'],
    ] as const) {
      const where = { [name]: [value] } as never
      const refused = { code: 'unprocessable' }
      await expect(owner.get('things', { where })).rejects.toMatchObject(refused)
      await expect(owner.deleteWhere('things', where)).rejects.toMatchObject(refused)
      await expect(owner.updateWhere('things', where, { number: 1 })).rejects.toMatchObject(refused)
      await expect(owner.tokenize([{ value, table: 'things', column: name } as never])).rejects.toMatchObject(refused)
    }
  })

  it('read texts of values for a wire, on request', async () => {
    const { owner } = await open()
    const { records } = await owner.insert('things', [{ fields: { j: '1' } }, { fields: { j: 1, flag: true, score: 0.5 } }])
    for (const [name, text] of [
      ['j', '1'],
      ['flag', 'true'],
      ['score', '5e-1'],
    ] as const) {
      const options = { where: { [name]: [text] } }
      const read = await owner.perform('get', { table: 'things', options, areTexts: true })
      expect(read.records.map(({ id }) => id)).toEqual([records[1]?.id])
      const asked = [{ value: text, table: 'things', column: name }]
      expect((await owner.perform('tokenize', { records: asked, areTexts: true })).records).toHaveLength(1)
    }
  })

  it('explain a JSON text as a text', async () => {
    const policyOf = { reader: ["ALLOW READ ON things.* WHERE j ? 'a'"] }
    const options = { id: 'v1', schema, keys: localKeys({ key: TEST_SECRET }), policy: policyOf }
    const vault = await createVault({ ...options, storage: engine.fresh().open() })
    const decide = (j: unknown) =>
      vault.explain({ ...OWNER, roles: ['reader'] }, 'READ', 'things', { record: { j } }).columns[0]?.decision
    expect([decide({ a: 1 }), decide('{"a":1}')]).toEqual(['ALLOWED', 'DENIED'])
    await vault.close()
  })
})

onEachStorage('normalized columns', (engine) => {
  const open = async () => {
    const vault = await createVault({ id: 'v1', schema, keys: localKeys({ key: TEST_SECRET }), storage: engine.fresh().open() })
    return { vault, owner: vault.as(OWNER) }
  }

  it('keep numbers in the digits of every script apart', async () => {
    const { owner } = await open()
    const upsert = (digits: string, name: string) => owner.insert('people', [{ fields: { digits, name } }], { upsert: 'digits' })
    await upsert('٠٧٠١', 'A')
    await upsert('٠٩٩٨', 'B')
    await upsert('07-01', 'C')
    const { records } = await owner.get('people')
    expect(records.map(({ fields }) => fields.name)).toEqual(['C', 'B'])
  })

  it('refuse a text of which nothing is left, wherever it is written', async () => {
    const { owner } = await open()
    const [{ id = '' } = {}] = (
      await owner.insert('people', [{ fields: { digits: '1', phone: '+46 1', email: 'a@b', mobile: '+46 8 123456' } }])
    ).records
    const cells = [
      { digits: 'private line' },
      { digits: ' ' },
      { phone: 'none' },
      { phone: '070-1 ext. 2' },
      { email: 'unknown' },
      { mobile: 'private line' },
    ]
    for (const fields of cells) {
      const refused = { code: 'unprocessable', details: [{ table: 'people', column: Object.keys(fields)[0] }] }
      const where = { digits: '1' } as const
      const calls = [
        () => owner.insert('people', [{ fields }]),
        () => owner.insert('people', [{ fields: { digits: '9', ...fields } }], { upsert: 'digits' }),
        () => owner.insert('people', [{ fields }], { onConflict: 'ignore' }),
        () => owner.updateOne('people', id, fields),
        () => owner.update('people', [{ id, fields }]),
        () => owner.updateWhere('people', where, fields),
        () => owner.batch([{ insert: 'people', fields }]),
        () => owner.batch([{ update: 'people', id, fields }]),
      ]
      for (const call of calls) {
        const error: unknown = await call().catch((thrown: unknown) => thrown)
        expect(error).toMatchObject(refused)
        expect(String(error)).not.toMatch(/private line|070|unknown/)
      }
    }
    await owner.insert('people', [{ fields: { digits: '', loose: 'private line' } }, { fields: { loose: 'none' } }])
    expect((await owner.get('people')).records.map(({ fields }) => fields.loose)).toEqual([null, 'private line', 'none'])
  })

  it('find nothing by a text of which nothing is left', async () => {
    const { owner } = await open()
    await owner.insert('people', [
      { fields: { digits: '', phone: '' } },
      { fields: { digits: '1', phone: '+46 1', email: 'a@b' } },
    ])
    for (const [name, value] of [
      ['digits', 'unknown'],
      ['phone', 'none'],
      ['email', 'unknown'],
    ] as const) {
      const where = { [name]: value } as never
      expect((await owner.get('people', { where })).records).toEqual([])
      expect(await owner.deleteWhere('people', where)).toEqual({ ids: [] })
      expect(await owner.updateWhere('people', where, { name: 'X' })).toEqual({ records: [] })
      expect((await owner.query(`SELECT name FROM people WHERE ${name} = $1`, [value])).records).toEqual([])
      expect((await owner.query(`SELECT name FROM people WHERE ${name} = 'none' OR ${name} = $1`, [value])).records).toEqual([])
    }
    for (const one of ['phone', 'mobile'] as const)
      await expect(owner.tokenize([{ value: 'private line', table: 'people', column: one }])).rejects.toMatchObject({
        code: 'not_found',
      })
  })

  it('find telephone numbers and addresses in every spelling', async () => {
    const { owner } = await open()
    const fields = { phone: '+46 70-123 45 67', email: 'Ann@bücher.example', mobile: '+46 70-123 45 67' }
    const [{ id = '', tokens = {} } = {}] = (await owner.insert('people', [{ fields }], { tokenization: true })).records
    for (const [name, value] of [
      ['phone', ' 0046 70 1234567'],
      ['phone', '+٤٦ ٧٠ ١٢٣ ٤٥ ٦٧'],
      ['email', 'Ann@XN--BCHER-KVA.Example '],
    ] as const)
      expect((await owner.get('people', { where: { [name]: [value] } as never })).records.map((one) => one.id)).toEqual([id])
    await expect(owner.insert('people', [{ fields: { email: 'Ann@xn--bcher-kva.example' } }])).rejects.toMatchObject({
      code: 'conflict',
    })
    expect((await owner.get('people', { where: { phone: '070-123 45 67' } })).records).toEqual([])
    const { records } = await owner.tokenize([{ value: '0046701234567', table: 'people', column: 'mobile' }])
    expect(records[0]?.token).toBe(tokens.mobile)
    expect(tokens.mobile).toMatch(/^\+46\d{9}$/)
    const [found] = (await owner.detokenize([{ token: tokens.mobile ?? '', redaction: 'PLAIN_TEXT' }])).records
    expect(found?.value).toBe(fields.mobile)
  })

  it('cannot become searchable while records hold texts without a key', async () => {
    const place = engine.fresh()
    const options = { id: 'v1', keys: localKeys({ key: TEST_SECRET }), schemaChanges: 'apply' } as const
    const define = (more: object) => defineSchema({ t: { n: column.string({ normalize: ['digits'], ...more }) } })
    const vault = await createVault({ ...options, schema: define({}), storage: place.open() })
    const { records } = await vault.as(OWNER).insert('t', [{ fields: { n: 'private line' } }, { fields: { n: '1' } }])
    await vault.close()
    for (const more of [{ searchable: true }, { unique: true }])
      await expect(createVault({ ...options, schema: define(more), storage: place.open() })).rejects.toMatchObject({
        code: 'failed_precondition',
        details: [{ table: 't', column: 'n' }],
      })
    const again = await createVault({ ...options, schema: define({}), storage: place.open() })
    await again.as(OWNER).delete('t', [records[0]?.id ?? ''])
    await again.close()
    const grown = await createVault({ ...options, schema: define({ searchable: true }), storage: place.open() })
    const found = await grown.as(OWNER).perform('get', { table: 't', options: { where: { n: '#1' } } })
    expect(found.records).toHaveLength(1)
    await grown.close()
  })
})

onEachStorage('ids and tokens in capitals', (engine) => {
  it('are those in small letters', async () => {
    const vault = await createVault({ id: 'v1', schema, keys: localKeys({ key: TEST_SECRET }), storage: engine.fresh().open() })
    const owner = vault.as(OWNER)
    const fields = { name: 'Ann', phone: '+46 70 1234567', digits: '1' }
    const [{ id = '', tokens = {} } = {}] = (await owner.insert('people', [{ fields }], { tokenization: true })).records
    const ID = id.toUpperCase()
    expect(ID).not.toBe(id)
    expect(await owner.getOne('people', ID)).toMatchObject({ id, fields: { name: 'Ann' } })
    expect((await owner.get('people', { ids: [ID] })).records.map((one) => one.id)).toEqual([id])
    expect(await owner.updateOne('people', ID, { digits: '2' })).toMatchObject({ id })
    await expect(
      owner.update('people', [
        { id: ID, fields: { digits: '3' } },
        { id, fields: { digits: '4' } },
      ]),
    ).rejects.toMatchObject({
      code: 'invalid_request',
    })
    expect((await owner.update('people', [{ id: ID, fields: { digits: '3' } }])).records[0]?.id).toBe(id)
    for (const where of ['svc_id = $1', 'NOT NOT svc_id = $1', "svc_id = $1 OR name LIKE '%zz%'"])
      expect((await owner.query(`SELECT svc_id FROM people WHERE ${where}`, [ID])).records).toEqual([
        expect.objectContaining({ fields: { svc_id: id } }),
      ])
    expect((await owner.query('SELECT svc_id FROM people WHERE NOT svc_id = $1', [ID])).records).toEqual([])
    for (const token of [tokens.name ?? '', tokens.phone ?? '']) {
      const asked = token.toUpperCase()
      expect(asked).not.toBe(token)
      const detokenized = await owner.detokenize([{ token: asked, redaction: 'PLAIN_TEXT' }])
      expect(detokenized.records).toMatchObject([{ token: asked, value: expect.stringMatching(/Ann|\+46/) }])
      expect((await owner.getByTokens([asked])).records).toMatchObject([{ token: asked, id }])
    }
    await expect(
      owner.insert('people', [{ fields: { name: 'Bo' }, tokens: { name: tokens.name?.toUpperCase() ?? '' } }], {
        byot: 'ENABLE',
      }),
    ).rejects.toMatchObject({ code: 'unprocessable' })
    const { responses } = await owner.batch([
      { get: 'people', id: ID },
      { delete: 'people', id: ID },
    ])
    expect(responses).toMatchObject([{ value: { id } }, { value: { id, deleted: true } }])
    const [other] = (await owner.insert('people', [{ fields }])).records
    expect(await owner.delete('people', [other?.id.toUpperCase() ?? ''])).toEqual({ ids: [other?.id] })
  })
})

describe('JSON', () => {
  it('leaves out members that are undefined, and refuses an undefined item of a list', async () => {
    const vault = await createVault({ id: 'v1', schema, keys: localKeys({ key: TEST_SECRET }), storage: memoryStorage() })
    const owner = vault.as(OWNER)
    const j = { a: 1, gone: undefined, deep: [{ gone: undefined, b: null }] }
    const [{ id = '' } = {}] = (await owner.insert('things', [{ fields: { j } }])).records
    expect((await owner.getOne('things', id)).fields.j).toStrictEqual({ a: 1, deep: [{ b: null }] })
    const same = await owner.get('things', { where: { j: [{ deep: [{ b: null }], a: 1 }] } })
    expect(same.records.map((one) => one.id)).toEqual([id])
    await expect(owner.insert('things', [{ fields: { j: [undefined as never] } }])).rejects.toMatchObject({
      code: 'unprocessable',
    })
    await vault.close()
  })
})
