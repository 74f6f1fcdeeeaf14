/** Columns that are unique together: conflicts, upserts and imports by them, on each engine as in a model, also of concurrent writers, and added to a table that has records. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { column, createVault, defineSchema, isVaultError } from '../../../src/index.ts'
import { randomFor } from '../../support/random/seeded-random.ts'
import { memoryEngine, onEachStorage } from '../../support/storages/engines.ts'
import { openFast } from '../../support/vaults/fast-ports.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const PLAIN = { redaction: 'PLAIN_TEXT' } as const
const TABLES = {
  people: {
    tenant: column.string({ ...PLAIN, encrypted: false }),
    email: column.string({ ...PLAIN, searchable: true, normalize: ['lowercase'] }),
    badge: column.integer({ ...PLAIN, encrypted: false }),
    name: column.string({ ...PLAIN, token: 'random' }),
  },
}
const schema = defineSchema(TABLES, {
  uniqueTogether: {
    people: [
      ['tenant', 'email'],
      ['tenant', 'badge'],
    ],
  },
})
const PAIR = ['tenant', 'email'] as const

function open(storage: StorageHandle) {
  return createVault({ id: 'v1', schema, storage, keys: localKeys({ key: TEST_SECRET }) })
}

/** Returns the code of the error of a call; undefined if it succeeds. */
function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  return call.then(
    () => undefined,
    (error: unknown) => (isVaultError(error) ? error.code : String(error)),
  )
}

/** A record of the model. */
interface Held {
  readonly tenant: string | null
  readonly email: string | null
  readonly badge: number | null
}

const KEYS = [
  ({ tenant, email }: Held) => (tenant === null || email === null ? undefined : `${tenant} ${email.toLowerCase()}`),
  ({ tenant, badge }: Held) => (tenant === null || badge === null ? undefined : `${tenant} ${badge}`),
]

/** Returns how many keys more than one record has. */
function repeated(records: readonly Held[]): number {
  return KEYS.map((keyOf) => {
    const keys = records.flatMap((record) => keyOf(record) ?? [])
    return keys.length - new Set(keys).size
  }).reduce((sum, count) => sum + count)
}

function heldOf({ records }: { readonly records: readonly { readonly fields: object }[] }): Held[] {
  return records.map(({ fields }) => fields as unknown as Held)
}

type People = ReturnType<Awaited<ReturnType<typeof open>>['as']>
const NAMES = ['tenant', 'email', 'badge'] as const

/** Writes in the vault and in the model, and returns the code of a refusal. */
type Step = (
  people: People,
  model: Map<string, Held>,
  drawn: { readonly id: string | undefined; readonly fields: Held; readonly name: (typeof NAMES)[number] },
) => Promise<string | undefined>

function isTaken(model: ReadonlyMap<string, Held>, record: Held, own?: string): boolean {
  return repeated([...[...model].flatMap(([id, held]) => (id === own ? [] : [held])), record]) > 0
}

/** Deletes, updates one column, upserts, and inserts unless it conflicts. */
const STEPS: readonly Step[] = [
  async (people, model, { id = '' }) => {
    const code = await codeOf(people.deleteOne('people', id))
    expect(code).toBe(model.delete(id) ? undefined : 'not_found')
    return code
  },
  async (people, model, { id = '', fields, name }) => {
    const before = model.get(id)
    if (before === undefined) return undefined
    const after = { ...before, [name]: fields[name] }
    const code = await codeOf(people.updateOne('people', id, { [name]: fields[name] }))
    expect(code).toBe(isTaken(model, after, id) ? 'conflict' : undefined)
    if (code === undefined) model.set(id, after)
    return code
  },
  async (people, model, { fields }) => {
    const key = KEYS[0]?.(fields)
    if (key === undefined) return undefined
    const own = [...model].find(([, held]) => KEYS[0]?.(held) === key)?.[0]
    const answer = people.insert('people', [{ fields }], { upsert: PAIR })
    const code = await codeOf(answer)
    expect(code).toBe(isTaken(model, fields, own) ? 'conflict' : undefined)
    if (code === undefined) model.set(own ?? (await answer).records[0]?.id ?? '', fields)
    return code
  },
  async (people, model, { fields }) => {
    const [record] = (await people.insert('people', [{ fields }], { onConflict: 'ignore' })).records
    expect(record?.ignored === true).toBe(isTaken(model, fields))
    if (record?.id !== undefined) model.set(record.id, fields)
    return record?.ignored === true ? 'conflict' : undefined
  },
]

/** Draws a record of few values, so that many meet. */
function draw(random: (max: number) => number): Held {
  return {
    tenant: [null, 'a', 'b'][random(3)] ?? null,
    email: [null, 'x@acme.example', 'X@acme.example', 'y@acme.example'][random(4)] ?? null,
    badge: [null, 1, 2, 3][random(4)] ?? null,
  }
}

onEachStorage('columns that are unique together', (engine) => {
  it('refuse equal values of all of them, and name them', async () => {
    const place = engine.fresh()
    const people = (await open(place.open())).as(OWNER)
    const ann = { tenant: 'a', email: 'ann@acme.example' }
    const { id } = await people.insertOne('people', ann)
    await people.insert('people', [
      { fields: { ...ann, tenant: 'b' } },
      { fields: { ...ann, email: 'bo@acme.example' } },
      { fields: { tenant: 'a', email: null } },
      { fields: { tenant: 'a' } },
      { fields: { email: ann.email } },
      { fields: { email: ann.email } },
    ])
    const taken = {
      code: 'conflict',
      message: expect.stringContaining('already holds these values of columns "tenant", "email", which are unique together'),
      details: [
        { table: 'people', column: 'tenant', index: 1 },
        { table: 'people', column: 'email', index: 1 },
      ],
    }
    const again = people.insert('people', [{ fields: { tenant: 'c' } }, { fields: { ...ann, email: 'ANN@acme.example' } }])
    await expect(again).rejects.toMatchObject(taken)
    const { records } = await people.get('people', { where: { email: ann.email }, orderBy: 'ASCENDING' })
    const other = records.find(({ fields }) => fields.tenant === 'b')?.id ?? ''
    expect(await codeOf(people.updateOne('people', other, { tenant: 'a' }))).toBe('conflict')
    expect(await codeOf(people.updateOne('people', id, { name: 'Ann', email: 'Ann@acme.example' }))).toBeUndefined()
    const ignored = await people.insert('people', [{ fields: ann }, { fields: { tenant: 'c', email: 'c@acme.example' } }], {
      onConflict: 'ignore',
    })
    expect(ignored.records).toEqual([{ ignored: true }, { id: expect.any(String) }])
  })

  it('are the key of an upsert, in any order of their names, also of many records and in batches', async () => {
    const vault = await open(engine.fresh().open())
    const people = vault.as(OWNER)
    const fieldsOf = (n: number, name: string) => ({ tenant: `t${n % 40}`, email: `p${n}@acme.example`, name })
    const some = (name: string) => Array.from({ length: 120 }, (_, n) => ({ fields: fieldsOf(n, name) }))
    const first = await people.insert('people', some('first'), { upsert: PAIR })
    const second = await people.insert('people', [...some('second'), { fields: fieldsOf(200, 'new') }], {
      upsert: ['email', 'tenant'] as never,
    })
    expect(second.records.slice(0, 120).map(({ id }) => id)).toEqual(first.records.map(({ id }) => id))
    const { responses } = await people.batch([
      { insert: 'people', fields: fieldsOf(5, 'third'), upsert: PAIR },
      { insert: 'people', fields: fieldsOf(6, 'third'), upsert: PAIR },
      { insert: 'people', fields: fieldsOf(300, 'third'), upsert: PAIR },
    ])
    expect(responses.slice(0, 2)).toMatchObject([
      { value: { id: first.records[5]?.id } },
      { value: { id: first.records[6]?.id } },
    ])
    const twice = [fieldsOf(7, 'earlier'), { ...fieldsOf(7, 'later'), email: 'P7@acme.example' }].map((fields) => ({ fields }))
    const { records } = await people.insert('people', twice, { upsert: PAIR })
    expect(records.map(({ id }) => id)).toEqual([first.records[7]?.id, first.records[7]?.id])
    expect((await people.getOne('people', records[0]?.id ?? '')).fields.name).toBe('later')
    expect((await people.query('SELECT COUNT(*) FROM people')).records[0]?.fields).toEqual({ 'count(*)': 122 })
    const without = people.insert('people', [{ fields: { tenant: 'a' } }], { upsert: PAIR })
    await expect(without).rejects.toMatchObject({ code: 'unprocessable', details: [{ column: 'email', index: 0 }] })
    const other = people.insert('people', [{ fields: { tenant: 'a' } }], { upsert: ['email', 'badge'] as never })
    await expect(other).rejects.toMatchObject({
      code: 'unprocessable',
      message:
        'Insert failed. Columns "email", "badge" of table "people" are not unique together. Upsert by a unique column, or by columns that are unique together.',
    })
    for (const upsert of [[], 5, ['tenant', 5], Array(9).fill('tenant')])
      expect(await codeOf(people.insert('people', [{ fields: {} }], { upsert: upsert as never }))).toBe('invalid_request')
    expect((await vault.verifyRecords()).findings).toEqual([])
  })

  it('are as in a model, whatever is written', async () => {
    const random = randomFor(`unique together ${engine.name}`)
    const below = (n: number): number => Math.floor(random() * n)
    const people = (await open(engine.fresh().open())).as(OWNER)
    const model = new Map<string, Held>()
    const codes: (string | undefined)[] = []
    for (let step = 0; step < 150; step++) {
      const [id] = [...model.keys()].slice(below(model.size || 1))
      const fields = draw(below)
      const code = await STEPS[below(STEPS.length)]?.(people, model, { id, fields, name: NAMES[below(3)] ?? 'tenant' })
      codes.push(code)
    }
    expect(codes.filter((code) => code === 'conflict').length).toBeGreaterThan(10)
    expect(codes.filter((code) => code === undefined).length).toBeGreaterThan(50)
    const held = heldOf(await people.get('people', { limit: 1000, orderBy: 'ASCENDING' }))
    expect(held).toEqual([...model.values()].map((one) => expect.objectContaining(one)))
  })

  it('are never equal in two records, also of callers that write at once', async () => {
    const place = engine.fresh()
    const vaults = [await open(place.open()), ...(engine.name === 'memory' ? [] : [await open(place.open())])]
    const records = await writeAtOnce(vaults, engine.name)
    expect(records.length).toBeGreaterThan(3)
    expect(repeated(records)).toBe(0)
    for (const vault of vaults) expect((await vault.verifyRecords()).findings).toEqual([])
  })

  it('are added to a table that has records, unless some are equal, and taken away', async () => {
    const place = engine.fresh()
    const vault = await openFast(place.open(), defineSchema(TABLES))
    const people = vault.as(OWNER)
    const same = { tenant: 'a', email: 'x@acme.example' }
    const records = [{ fields: same }, { fields: { ...same, email: 'X@acme.example' } }, { fields: same }]
    const stored = await people.insert('people', records)
    await people.insert('people', [{ fields: { tenant: 'a' } }, { fields: { tenant: 'a' } }])
    const { refusals } = await vault.planSchemaChange(schema)
    expect(refusals).toMatchObject([{ table: 'people', reason: expect.stringContaining('2 records') }])
    await people.delete(
      'people',
      stored.records.slice(1).map(({ id }) => id),
    )
    await vault.applySchemaChange(await vault.planSchemaChange(schema))
    expect(await codeOf(people.insertOne('people', same))).toBe('conflict')
    expect(await codeOf(people.insertOne('people', same, { upsert: PAIR as never }))).toBeUndefined()
    if (engine.name !== 'memory')
      expect((await open(place.open())).schema.people?.email?.uniqueTogether).toEqual([['tenant', 'email']])
    await vault.applySchemaChange(await vault.planSchemaChange(defineSchema(TABLES)))
    expect(await codeOf(people.insertOne('people', same))).toBeUndefined()
  })
})

/** Lets callers write few values at once, and returns the records that are left. */
async function writeAtOnce(vaults: readonly Awaited<ReturnType<typeof open>>[], seed: string): Promise<Held[]> {
  const callers = Array.from({ length: 8 }, async (_, caller) => {
    const people = vaults[caller % vaults.length]?.as(OWNER)
    const random = randomFor(`at once ${seed} ${caller}`)
    for (let step = 0; step < 12; step++) {
      const fields = draw((n) => Math.floor(random() * n))
      const isWhole = fields.tenant !== null && fields.email !== null
      const call = people?.insert('people', [{ fields }], random() < 0.5 && isWhole ? { upsert: PAIR } : {})
      const code = await codeOf(Promise.resolve(call))
      expect([undefined, 'conflict', 'aborted']).toContain(code)
      const id = code === undefined ? (await call)?.records[0]?.id : undefined
      if (id !== undefined && random() < 0.3)
        expect([undefined, 'conflict', 'aborted', 'not_found']).toContain(
          await codeOf(people?.updateOne('people', id, { badge: fields.badge, tenant: 'b' }) ?? Promise.resolve()),
        )
    }
  })
  await Promise.all(callers)
  return heldOf((await vaults[0]?.as(OWNER).get('people', { limit: 1000 })) as never)
}

it('is found out by these tests if the storage does not compare them', async () => {
  const storage = memoryEngine().fresh().open()
  const planted: StorageHandle = {
    ...storage,
    prepare: (tables) =>
      storage.prepare(
        tables.map((table) => ({
          ...table,
          indexes: table.indexes.map((index) => ({ ...index, unique: index.unique && index.columns.length === 1 })),
        })),
      ),
  }
  const vault = await open(planted)
  expect(repeated(await writeAtOnce([vault], 'planted'))).toBeGreaterThan(0)
  const { counts, findings } = await vault.verifyRecords()
  expect(counts.duplicate_value).toBeGreaterThan(0)
  expect(findings[0]).toEqual({ kind: 'duplicate_value', table: 'people', id: expect.any(String) })
})

it('are checked by defineSchema, which says what to write', () => {
  const columns = {
    tenant: column.string({ encrypted: false }),
    email: column.string({}),
    scan: column.file({}),
    pin: column.string({ token: 'transient' }),
    notes: column.json({ encrypted: false }),
    code: column.string({ token: 'deterministic' }),
  }
  const refused = (names: readonly string[]) => () =>
    defineSchema(columnsOf(columns), { uniqueTogether: { t: [names] } } as never)
  expect(refused(['tenant', 'email'])).toThrow('column "email", which is encrypted and has no digest: set searchable: true')
  expect(refused(['tenant', 'scan'])).toThrow('holds files')
  expect(refused(['tenant', 'pin'])).toThrow('is transient')
  expect(refused(['tenant', 'notes'])).toThrow('encrypt it and set searchable: true')
  expect(refused(['tenant', 'nothing'])).toThrow('does not exist')
  expect(refused(['tenant', 'tenant'])).toThrow('the same columns twice')
  expect(refused(['tenant', 'code'])).not.toThrow()
  expect(() =>
    defineSchema(columnsOf(columns), {
      uniqueTogether: {
        t: [
          ['tenant', 'code'],
          ['code', 'tenant'],
        ],
      },
    }),
  ).toThrow('twice')
  // @ts-expect-error no table has this name
  expect(() => defineSchema(columnsOf(columns), { uniqueTogether: { other: [['tenant', 'code']] } })).toThrow('does not exist')
})

function columnsOf<T>(columns: T): { t: T } {
  return { t: columns }
}

it('types what an upsert can go by', async () => {
  const people = (await open(memoryEngine().fresh().open())).as(OWNER)
  const records = [{ fields: { tenant: 'a', email: 'x@acme.example', badge: 1 } }]
  expect((await people.insert('people', records, { upsert: ['tenant', 'badge'] })).records).toHaveLength(1)
  // @ts-expect-error they are not unique together
  expect(await codeOf(people.insert('people', records, { upsert: ['email', 'badge'] }))).toBe('unprocessable')
  // @ts-expect-error it is not unique by itself
  expect(await codeOf(people.insert('people', records, { upsert: 'email' }))).toBe('unprocessable')
})
