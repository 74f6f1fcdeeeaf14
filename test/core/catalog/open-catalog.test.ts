/** Opening a vault: key and id must match, schemas can grow, and schema changes that would lose data are rejected. */
import { expect, it } from 'vitest'
import { localKeys } from '../../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import { checkSchema } from '../../../src/core/schema/define-schema.ts'
import { column, createVault, defineSchema, type SchemaDefinition, type Vault } from '../../../src/index.ts'
import { onEachStorage, type Place } from '../../support/storages/engines.ts'
import { OWNER, openPeople, TEST_SECRET } from '../../support/vaults/test-vault.ts'

/** A separate handle on the same storage, so that a rejected opening does not affect the others. */
function open<const S extends SchemaDefinition>(place: Place, tables: S, id = 'v1', key = TEST_SECRET): Promise<Vault<S>> {
  const keys = localKeys({ key })
  return createVault({ id, schema: checkSchema(tables), storage: place.open(), keys, schemaChanges: 'apply' })
}

const BASE = {
  things: {
    name: column.string({ redaction: 'PLAIN_TEXT', token: 'random' }),
    size: column.integer({ encrypted: false, redaction: 'PLAIN_TEXT' }),
  },
}

onEachStorage('opening a vault', (engine) => {
  it('returns the stored records, ids and tokens after reopening', async () => {
    const place = engine.fresh()
    const first = await open(place, BASE)
    const { records } = await first.as(OWNER).insert('things', [{ fields: { name: 'x', size: 1 } }], { tokenization: true })
    const again = await open(place, BASE)
    const read = await again.as(OWNER).getOne('things', records[0]?.id ?? '')
    expect(read.fields).toEqual({ name: 'x', size: 1 })
    const { records: resolved } = await again.as(OWNER).detokenize([{ token: records[0]?.tokens.name ?? '' }])
    expect(resolved[0]?.value).toBe('x')
  })

  it('rejects another id or key and writes nothing', async () => {
    const place = engine.fresh()
    const vault = await open(place, BASE)
    await vault.as(OWNER).insert('things', [{ fields: { name: 'x' } }])
    const storage = place.open()
    await storage.prepare([])
    const before = await storage
      .find('catalog', { kind: 'all' }, { order: 'asc', limit: 100 })
      .catch(() => 'unknown to this handle')
    await expect(open(place, BASE, 'v2')).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('another id'),
    })
    const otherSecret = Buffer.alloc(32, 'another secret').toString('base64')
    await expect(open(place, { other: { a: column.string() } }, 'v1', otherSecret)).rejects.toMatchObject({
      code: 'failed_precondition',
    })
    const after = await storage
      .find('catalog', { kind: 'all' }, { order: 'asc', limit: 100 })
      .catch(() => 'unknown to this handle')
    expect(after).toEqual(before)
    expect((await (await open(place, BASE)).as(OWNER).get('things')).records.length).toBe(1)
  })

  it('adds new tables and columns, null in existing records', async () => {
    const place = engine.fresh()
    const { records } = await (await open(place, BASE)).as(OWNER).insert('things', [{ fields: { name: 'x', size: 1 } }])
    const grown = await open(place, {
      things: {
        ...BASE.things,
        note: column.string({ searchable: true }),
        rank: column.integer({ encrypted: false, index: true }),
      },
      more: { a: column.string() },
    })
    const session = grown.as(OWNER)
    const id = records[0]?.id ?? ''
    expect((await session.getOne('things', id, { redaction: 'PLAIN_TEXT' })).fields).toEqual({
      name: 'x',
      size: 1,
      note: null,
      rank: null,
    })
    await session.updateOne('things', id, { note: 'hello', rank: 3 })
    expect((await session.get('things', { where: { note: 'hello' } })).records.length).toBe(1)
    await session.insert('more', [{ fields: { a: 'b' } }])
  })

  it('keeps cells of newer columns when a process with the older schema writes', async () => {
    const place = engine.fresh()
    const older = await open(place, BASE)
    const newer = await open(place, { things: { ...BASE.things, note: column.string({ redaction: 'PLAIN_TEXT' }) } })
    const { records } = await newer.as(OWNER).insert('things', [{ fields: { name: 'x', note: 'kept' } }])
    const id = records[0]?.id ?? ''
    expect((await older.as(OWNER).getOne('things', id)).fields.name).toBe('x')
    await older.as(OWNER).updateOne('things', id, { name: 'y' })
    expect((await newer.as(OWNER).getOne('things', id)).fields).toMatchObject({ name: 'y', note: 'kept' })
  })

  it('computes digests of stored records when a column becomes searchable or unique', async () => {
    const place = engine.fresh()
    const names = Array.from({ length: 1000 }, (_, i) => ({ fields: { name: `n${i}` } }))
    const session = (await open(place, BASE)).as(OWNER)
    await session.insert('things', names)
    await session.insert('things', [{ fields: { name: null } }, { fields: { name: null } }])
    const unique = { things: { ...BASE.things, name: column.string({ redaction: 'PLAIN_TEXT', token: 'random', unique: true }) } }
    const grown = (await open(place, unique)).as(OWNER)
    expect((await grown.get('things', { where: { name: 'n777' } })).records[0]?.fields.name).toBe('n777')
    await expect(grown.insert('things', [{ fields: { name: 'n5' } }])).rejects.toMatchObject({
      code: 'conflict',
      details: [{ column: 'name' }],
    })
  })

  it('rejects unique on a column with duplicates and names the column', async () => {
    const place = engine.fresh()
    const session = (await open(place, BASE)).as(OWNER)
    await session.insert('things', [{ fields: { name: 'same', size: 1 } }, { fields: { name: 'same', size: 1 } }])
    const refusedBy = (things: SchemaDefinition[string]) => open(place, { things })
    await expect(
      refusedBy({ ...BASE.things, name: column.string({ redaction: 'PLAIN_TEXT', token: 'random', unique: true }) }),
    ).rejects.toMatchObject({
      code: 'failed_precondition',
      details: [{ table: 'things', column: 'name' }],
    })
    await expect(refusedBy({ ...BASE.things, size: column.integer({ encrypted: false, unique: true }) })).rejects.toMatchObject({
      code: 'failed_precondition',
      details: [{ table: 'things', column: 'size' }],
    })
    expect((await (await open(place, BASE)).as(OWNER).get('things')).records.length).toBe(2)
  })

  it('rejects required on a column with nulls', async () => {
    const place = engine.fresh()
    const session = (await open(place, BASE)).as(OWNER)
    await session.insert('things', [{ fields: { name: 'x', size: 1 } }, { fields: { name: 'y' } }])
    const size = column.integer({ encrypted: false, redaction: 'PLAIN_TEXT', required: true })
    await expect(open(place, { things: { ...BASE.things, size } })).rejects.toMatchObject({
      code: 'failed_precondition',
      details: [{ column: 'size' }],
    })
    const name = column.string({ redaction: 'PLAIN_TEXT', token: 'random', required: true })
    await open(place, { things: { ...BASE.things, name } })
  })

  it('stores no duplicate while several processes make a column unique', async () => {
    const place = engine.fresh()
    const count = 600
    const session = (await open(place, BASE)).as(OWNER)
    await session.insert(
      'things',
      Array.from({ length: count }, (_, i) => ({ fields: { name: `n${i}` } })),
    )
    const unique = { things: { ...BASE.things, name: column.string({ redaction: 'PLAIN_TEXT', token: 'random', unique: true }) } }
    const outcomes = await Promise.all(
      Array.from({ length: 5 }, async (_, opener) => {
        // While one of them changes the schema, the others are refused.
        const opened = await open(place, unique).catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'failed_precondition' })
        })
        if (opened === undefined) return []
        const people = opened.as(OWNER)
        const tries = Array.from({ length: 40 }, (_, i) =>
          people.insert('things', [{ fields: { name: `n${(opener * 97 + i * 13) % count}` } }]),
        )
        return Promise.allSettled(tries)
      }),
    )
    expect(outcomes.flat().length).toBeGreaterThan(0)
    expect(outcomes.flat().filter((outcome) => outcome.status === 'fulfilled')).toEqual([])
  })

  it('rejects retyped, unsealed, untokenized and new required columns by name, unless asked to apply', async () => {
    const place = engine.fresh()
    await (await open(place, BASE)).as(OWNER).insert('things', [{ fields: { name: 'x' } }])
    const { name, size } = BASE.things
    const changes: readonly [SchemaDefinition, string][] = [
      [{ things: { name, size: column.string({ encrypted: false }) } }, 'size'],
      [{ things: { name: column.string({ encrypted: false }), size } }, 'name'],
      [{ things: { name: column.string({ redaction: 'PLAIN_TEXT' }), size } }, 'name'],
      [{ things: { name, size, must: column.string({ required: true }) } }, 'must'],
    ]
    const options = { id: 'v1', keys: localKeys({ key: TEST_SECRET }) }
    for (const [tables, named] of changes) {
      await expect(createVault({ ...options, schema: checkSchema(tables), storage: place.open() })).rejects.toMatchObject({
        code: 'failed_precondition',
        details: expect.arrayContaining([expect.objectContaining({ table: 'things', column: named })]),
      })
    }
    await open(place, BASE)
  })

  it('creates one catalog when many processes open a new vault at once', async () => {
    const place = engine.fresh()
    const vaults = await Promise.all(Array.from({ length: 6 }, () => openPeople(place.open())))
    const ids = await Promise.all(
      vaults.map(
        async (vault, i) => (await vault.as(OWNER).insert('people', [{ fields: { name: `p${i}` } }])).records[0]?.id ?? '',
      ),
    )
    for (const vault of vaults) expect((await vault.as(OWNER).get('people', { ids })).records.length).toBe(6)
  })
})

it('invalid options are rejected by name', async () => {
  const untyped: (options: unknown) => Promise<unknown> = createVault as never
  const fine = { id: 'v1', schema: defineSchema(BASE), storage: memoryStorage(), keys: localKeys({ key: TEST_SECRET }) }
  const wrong = [
    undefined,
    {},
    { ...fine, id: '' },
    { ...fine, id: 'x\ud800' },
    { ...fine, storage: {} },
    { ...fine, keys: {} },
    { ...fine, clock: {} },
    { ...fine, extra: 1 },
  ]
  for (const options of wrong) {
    await expect(untyped(options)).rejects.toMatchObject({ code: 'invalid_request' })
  }
  await expect(untyped({ ...fine, clock: undefined, entropy: undefined })).resolves.toBeDefined()
})
