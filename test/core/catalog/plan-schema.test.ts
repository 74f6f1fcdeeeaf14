/** A plan says what opening with another schema does, without doing it; and a vault opens as it is stored, which changes nothing. */
import { describe, expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { checkSchema } from '../../../src/core/schema/define-schema.ts'
import { column, createVault, type SchemaDefinition, storedSchema } from '../../../src/index.ts'
import { OWNER, TEST_SECRET } from '../../support/vaults/test-vault.ts'

const keys = () => localKeys({ key: TEST_SECRET })
const open = (storage: StorageHandle, tables: SchemaDefinition) =>
  createVault({ id: 'v1', schema: checkSchema(tables), storage, keys: keys() })
const openStored = (storage: StorageHandle) => createVault({ id: 'v1', schema: storedSchema, storage, keys: keys() })

const NAME = column.string({ redaction: 'PLAIN_TEXT' })
const BASE = {
  people: {
    name: NAME,
    country: column.string({ encrypted: false }),
    size: column.integer({ encrypted: false, index: true }),
    email: column.string({ unique: true }),
  },
}
const withColumns = (columns: SchemaDefinition[string]): SchemaDefinition => ({ people: { ...BASE.people, ...columns } })

type Fields = Readonly<Record<string, string>>

/** Each change: the schema, records that are there, and what the plan must say of it, as `column: change`. */
const CASES: Readonly<Record<string, readonly [SchemaDefinition, readonly Fields[], readonly string[]]>> = {
  nothing: [BASE, [{ name: 'a' }], []],
  'a table': [{ ...BASE, more: { a: NAME } }, [], ['more: added']],
  'a column': [withColumns({ note: NAME }), [{ name: 'a' }], ['note: added']],
  'a required column without records': [withColumns({ note: column.string({ required: true }) }), [], ['note: added']],
  'a required column with records': [withColumns({ note: column.string({ required: true }) }), [{ name: 'a' }], ['note: added']],
  'required of records with values': [
    withColumns({ name: column.string({ required: true }) }),
    [{ name: 'a' }],
    ['name: required', 'name: redaction'],
  ],
  'required of a record without': [
    withColumns({ country: column.string({ encrypted: false, required: true }) }),
    [{ name: 'a' }],
    ['country: required'],
  ],
  'unique of different values': [
    withColumns({ name: column.string({ redaction: 'PLAIN_TEXT', unique: true }) }),
    [{ name: 'a' }, { name: 'b' }],
    ['name: unique'],
  ],
  'unique of equal values': [
    withColumns({ name: column.string({ redaction: 'PLAIN_TEXT', unique: true }) }),
    [{ name: 'a' }, { name: 'a' }],
    ['name: unique'],
  ],
  'unique of equal plain values': [
    withColumns({ country: column.string({ encrypted: false, unique: true }) }),
    [{ country: 'SE' }, { country: 'SE' }],
    ['country: unique'],
  ],
  'unique of different plain values': [
    withColumns({ country: column.string({ encrypted: false, unique: true }) }),
    [{ country: 'SE' }, { country: 'NO' }, {}, {}],
    ['country: unique'],
  ],
  searchable: [
    withColumns({ name: column.string({ redaction: 'PLAIN_TEXT', searchable: true }) }),
    [{ name: 'a' }],
    ['name: searchable'],
  ],
  'another type': [withColumns({ name: column.integer({ redaction: 'PLAIN_TEXT' }) }), [], ['name: type']],
  'sealed in place of plain': [withColumns({ country: column.string() }), [], ['country: encrypted']],
  'a token': [withColumns({ name: column.string({ redaction: 'PLAIN_TEXT', token: 'random' }) }), [], ['name: token']],
  'unique removed': [withColumns({ email: column.string() }), [], ['email: unique']],
  'index removed': [withColumns({ size: column.integer({ encrypted: false }) }), [], ['size: index']],
  'another level': [withColumns({ name: column.string({ redaction: 'MASKED' }) }), [{ name: 'a' }], ['name: redaction']],
  'two refusals of one column': [withColumns({ email: column.integer() }), [], ['email: type', 'email: unique']],
  'a refusal beside a change': [
    withColumns({
      name: column.integer({ redaction: 'PLAIN_TEXT' }),
      country: column.string({ encrypted: false, required: true }),
    }),
    [{ name: 'a' }],
    ['name: type', 'country: required'],
  ],
}

const isDone = async (work: Promise<{ close(): Promise<void> }>) =>
  work.then(
    () => undefined,
    (error: Error) => error.message.replace(/^Cannot open the vault: /, ''),
  )

/** Returns the plan of a case, and the reason for which opening is refused afterwards; undefined if it is not. */
async function planAndOpen(tables: SchemaDefinition, records: readonly Fields[], readsRecords: boolean) {
  const storage = memoryStorage()
  const before = await open(storage, BASE)
  await before
    .as(OWNER)
    .insert('people', records.length === 0 ? [{ fields: { name: 'z' } }] : records.map((fields) => ({ fields })))
  if (records.length === 0) await before.as(OWNER).delete('people', '*')
  const plan = await before.planSchema(checkSchema(tables), { readsRecords })
  const again = await before.planSchema(checkSchema(BASE))
  return { plan, again, refusal: await isDone(open(storage, tables)) }
}

describe('a plan', () => {
  for (const [name, [tables, records, said]] of Object.entries(CASES)) {
    it(`of ${name} is refused exactly if opening is, for the same reason, and changes nothing`, async () => {
      const { plan, again, refusal } = await planAndOpen(tables, records, true)
      expect(plan.map(({ table, column: of, option, change }) => `${of ?? table}: ${option ?? change}`).sort()).toEqual(
        [...said].sort(),
      )
      expect(again).toEqual([])
      const reasons = plan.flatMap(({ refused }) => refused ?? [])
      if (refusal === undefined) expect(reasons).toEqual([])
      else expect(reasons).toContain(refusal)
    })
  }

  it('that reads no records does not know their refusals, which the law finds', async () => {
    const [tables, records] = CASES['unique of equal values'] ?? [BASE, []]
    const { plan, refusal } = await planAndOpen(tables, records, false)
    expect(plan.flatMap(({ refused }) => refused ?? [])).toEqual([])
    expect(refusal).toContain('cannot become unique')
  })

  it('says what stays stored, and what keeps processes with the schema from writing', async () => {
    const vault = await open(memoryStorage(), { ...BASE, more: { a: NAME } })
    const { name, country, size } = BASE.people
    const plan = await vault.planSchema(checkSchema({ people: { name, country, size } }))
    expect(plan).toEqual([
      { table: 'people', column: 'email', change: 'left out', stopsWrites: expect.stringContaining('leaves it out') },
      { table: 'more', change: 'left out' },
    ])
    const without = await vault.planSchema(
      checkSchema({ ...BASE, people: { name, size, email: BASE.people.email }, more: { a: NAME } }),
    )
    expect(without).toEqual([{ table: 'people', column: 'country', change: 'left out' }])
  })

  it('ends by its signal, and refuses what is no schema', async () => {
    const vault = await open(memoryStorage(), BASE)
    const signal = AbortSignal.abort()
    await expect(vault.planSchema(checkSchema(BASE), { signal })).rejects.toMatchObject({ code: 'cancelled' })
    await expect(vault.planSchema(JSON.parse('null'))).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(vault.planSchema(storedSchema)).rejects.toMatchObject({ code: 'invalid_request' })
  })
})

describe('a vault that is opened as it is stored', () => {
  it('has the tables of the process that opened it last, and changes nothing for others', async () => {
    const storage = memoryStorage()
    const strict = { people: { ...BASE.people, name: column.string({ required: true, redaction: 'PLAIN_TEXT' }) } }
    const vault = await open(storage, strict)
    const stored = await openStored(storage)
    expect(stored.schema).toEqual(vault.schema)
    await stored.as(OWNER).insert('people', [{ fields: { name: 'Ann' } }])
    await expect(stored.as(OWNER).insert('people', [{ fields: {} }])).rejects.toMatchObject({ code: 'unprocessable' })
    expect((await vault.as(OWNER).get('people')).records).toHaveLength(1)
    expect(await vault.planSchema(checkSchema(strict))).toEqual([])
  })

  it('is never founded', async () => {
    const storage = memoryStorage()
    await expect(openStored(storage)).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('has none'),
    })
    expect(await storage.snapshot(async ({ tables }) => tables)).toEqual([])
    await open(storage, BASE)
    await openStored(storage)
  })

  it('keeps the word for itself: a schema without tables is refused as before', async () => {
    const options = { id: 'v1', schema: { tables: {}, rules: {} }, storage: memoryStorage(), keys: keys() }
    await expect(createVault(options)).rejects.toMatchObject({ code: 'invalid_request' })
  })
})
