/** Changes of a schema that rewrite or erase stored bytes, beside writers that are open with the old schema: the records equal the model. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import type { SchemaMoves } from '../../../src/core/schema-change/schema-moves.ts'
import { column, VaultError } from '../../../src/index.ts'
import {
  type AnyVault,
  CONVERT,
  ERASE,
  ending,
  type Fields,
  goAhead,
  KEY,
  MADE_ANEW,
  NEW,
  OLD,
  open,
  PLAIN,
  person,
  schemaOf,
  Writers,
} from '../../support/schema-change/rewritten-people.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'
import { portsFaster } from '../../support/vaults/fast-ports.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

type Page = { readonly records: readonly { readonly fields: Fields }[]; readonly next?: string }

async function recordsOf(vault: AnyVault, table = 'people'): Promise<readonly Fields[]> {
  const found: Fields[] = []
  for (let after: string | undefined; ; ) {
    const page = (await vault.as(OWNER).get(table, { limit: 500, ...(after === undefined ? {} : { after }) } as never)) as {
      records: readonly { fields: Fields }[]
      next?: string
    }
    for (const { fields } of page.records) found.push(fields)
    after = page.next
    if (after === undefined) return found
  }
}

/** Expects the records of the model, and nothing else. */
async function expectModel(vault: AnyVault, model: ReadonlyMap<string, Fields>): Promise<void> {
  const found = new Map((await recordsOf(vault)).map((fields) => [String(fields.key), fields]))
  expect(found.size).toBe(model.size)
  for (const [key, fields] of model) expect(found.get(key), key).toEqual(fields)
}

/** Records of before a change. */
function peopleBefore(count: number): readonly { readonly fields: Fields }[] {
  return Array.from({ length: count }, (_, k) => ({ fields: { key: `old ${k}`, ...person(k, false), ...ending(k) } }))
}

type Inserted = readonly { readonly id: string; readonly tokens: Readonly<Record<string, string>> }[]

async function insertBefore(vault: AnyVault, count: number): Promise<Inserted> {
  const session = vault.as(OWNER)
  await session.insert('notes', [{ fields: { key: 'a', text: '4242424242424242' } }] as never)
  const { records } = await session.insert('people', peopleBefore(count) as never, { tokenization: true } as never)
  return records as never
}

async function change(vault: AnyVault, tables: object, moves?: SchemaMoves): Promise<void> {
  const plan = await vault.planSchemaChange(schemaOf(tables), moves)
  expect(plan.refusals).toEqual([])
  await vault.applySchemaChange(plan)
}

async function valuesOf(vault: AnyVault, tokens: readonly (string | undefined)[]): Promise<readonly unknown[]> {
  const { records } = await vault.as(OWNER).detokenize(tokens.map((token = '') => ({ token })))
  return records.map(({ value }) => value)
}

/** What is stored beside the records: tables and columns by the names that they were born with, stored tokens and transient values. */
async function storedParts(storage: StorageHandle) {
  return storage.snapshot(async ({ tables, aggregate }) => {
    const count = async (table: string) => Number((await aggregate(table, { kind: 'all' }, [{ kind: 'count' }]))[0])
    const records = tables.filter(({ name }) => name.startsWith('records_'))
    return {
      tables: records.map(({ name }) => name.replace(/^records_\d+_/, '')).sort(),
      columns: records.flatMap(({ columns }) => columns.map(({ name }) => name.replace(/_\d+_/, ' '))).sort(),
      tokens: await count('tokens'),
      transients: await count('transients'),
    }
  })
}

onEachStorage('changes that rewrite stored bytes', (engine) => {
  it('every kind at once equals the model, beside writers of the old schema', async () => {
    const place = engine.fresh()
    const first = await open(place.open(), OLD)
    const before = await insertBefore(first, 200)
    const writers = new Writers()
    for (const k of before.keys()) writers.model.set(`old ${k}`, { key: `old ${k}`, ...person(k, true) })
    writers.start(await open(place.open(), OLD))
    writers.start(await open(place.open(), OLD, 'off'))
    await change(first, MADE_ANEW, CONVERT)
    await writers.stop()
    const second = await open(place.open(), NEW)
    await expectModel(second, writers.model)
    await expectModel(second, new Map((await recordsOf(first)).map(({ fax: _, ...fields }) => [String(fields.key), fields])))
    const session = second.as(OWNER)
    for (const where of [{ secret: 'secret 7' }, { open: 'open 7' }]) {
      const page = (await session.get('people', { where } as never)) as Page
      expect(page.records.map(({ fields }) => fields.key)).toEqual(['old 7'])
    }
    await expect(session.insertOne('people', { key: 'other', open: 'open 7' } as never)).rejects.toMatchObject({
      code: 'conflict',
      details: [{ column: 'open' }],
    })
    expect((await second.verifyRecords()).findings).toEqual([])
    expect((await second.verifyAudit()).ok).toBe(true)
  })

  it('tokens of before and after resolve until the former ones are finished, and are mapped', async () => {
    const place = engine.fresh()
    const storage = place.open()
    const vault = await open(storage, OLD)
    const before = await insertBefore(vault, 40)
    await change(vault, MADE_ANEW, CONVERT)
    const session = vault.as(OWNER)
    const mapped = new Map<string, Readonly<Record<string, readonly [string, string]>>>()
    for await (const { id, tokens } of vault.tokenMap({ table: 'people' })) {
      expect(id[0]).toBe(id[1])
      mapped.set(id[0], tokens)
    }
    for (const [k, { id, tokens }] of before.entries()) {
      const { card, mail, nick } = mapped.get(id) ?? {}
      expect([card?.[0], mail?.[0], nick?.[0]]).toEqual([tokens.card, tokens.mail, tokens.nick])
      const values = [person(k, true).card, person(k, true).mail, person(k, true).nick]
      expect(await valuesOf(vault, [card?.[0], mail?.[0], nick?.[0]])).toEqual(values)
      expect(await valuesOf(vault, [card?.[1], mail?.[1], nick?.[1]])).toEqual(values)
    }
    // Of a changed value neither resolves any more, of one that stays both.
    const [one] = before
    await session.update('people', [{ id: one?.id, fields: { card: '5555555555554444' } }] as never)
    await expect(valuesOf(vault, [one?.tokens.card])).rejects.toMatchObject({ code: 'not_found' })
    expect(await valuesOf(vault, [one?.tokens.nick])).toEqual(['nick 0'])
    const { tokens: held } = await storedParts(storage)
    expect(held).toBe(41)
    await change(vault, MADE_ANEW, { finish: ['people.card', 'people.mail', 'people.nick'] })
    for (const text of [before[3]?.tokens.card, before[3]?.tokens.mail, before[3]?.tokens.nick])
      await expect(valuesOf(vault, [text])).rejects.toMatchObject({ code: 'not_found' })
    const { card, mail, nick } = mapped.get(before[3]?.id ?? '') ?? {}
    expect(await valuesOf(vault, [card?.[1], mail?.[1], nick?.[1]])).toEqual(['4242424242420003', 'P3@acme.example', 'nick 3'])
    expect(await storedParts(storage)).toEqual({
      tables: ['notes', 'people'],
      columns: [
        'body',
        'body',
        'digest born',
        'digest fax',
        'digest mail',
        'digest nick',
        'digest secret',
        'plain count',
        'plain flag',
        'plain key',
        'plain key',
        'plain open',
        'plain score',
      ],
      tokens: 1,
      transients: 40,
    })
    expect((await vault.verifyRecords()).findings).toEqual([])
  })

  it('what is erased leaves nothing, and its names are free', async () => {
    const place = engine.fresh()
    const storage = place.open()
    const vault = await open(storage, OLD)
    const before = await insertBefore(vault, 40)
    const { people, notes: _ } = OLD
    const { fax: __, pin: ___, ...kept } = people
    const writers = new Writers()
    for (const k of before.keys()) writers.model.set(`old ${k}`, { key: `old ${k}`, ...person(k, false) })
    const other = await open(place.open(), { people: kept })
    writers.start(other, false)
    const misspelled = { drop: { ...ERASE.drop, 'people.faks': 'erase' } } as const
    await expect(vault.planSchemaChange(schemaOf({ people: kept }), misspelled)).rejects.toMatchObject({
      code: 'failed_precondition',
      message: expect.stringContaining('column "faks" of table "people", which is not stored'),
    })
    const waits: unknown[] = []
    const plan = await vault.planSchemaChange(schemaOf({ people: kept }), ERASE)
    await vault.applySchemaChange(plan, { onProgress: ({ waitsFor }) => void (waitsFor !== undefined && waits.push(waitsFor)) })
    await writers.stop()
    expect([plan.waitsMs, waits]).toEqual([30_000, Array(2).fill('readers that go by the older schema')])
    expect((await other.planSchemaChange(schemaOf({ people: kept }), ERASE)).steps).toEqual([])
    const erased = { code: 'failed_precondition', message: expect.stringContaining('Table "notes" was erased') }
    await expect(vault.as(OWNER).get('notes', { limit: 1 })).rejects.toMatchObject(erased)
    await expect(vault.as(OWNER).query('SELECT text FROM notes')).rejects.toMatchObject(erased)
    await expectModel(other, writers.model)
    await expect(vault.as(OWNER).insertOne('people', { key: 'late' } as never)).rejects.toMatchObject({
      code: 'failed_precondition',
    })
    await expect(vault.as(OWNER).insertOne('notes', { key: 'late' } as never)).rejects.toMatchObject({
      code: 'failed_precondition',
    })
    const parts = await storedParts(storage)
    expect(parts).toMatchObject({
      tables: ['people'],
      transients: 0,
      tokens: [...writers.model.values()].filter(({ card }) => card !== null).length,
    })
    expect(parts.columns.filter((name) => name.includes('fax') || name.includes('pin'))).toEqual([])
    await change(other, OLD)
    const again = await open(place.open(), OLD)
    expect((await recordsOf(again)).every((fields) => fields.fax === null)).toBe(true)
    expect(await recordsOf(again, 'notes')).toEqual([])
    const { tokens } = await again
      .as(OWNER)
      .insertOne('people', { key: 'late', fax: 'fax 1' } as never, { tokenization: true } as never)
    expect(await valuesOf(again, [(tokens as Record<string, string>).fax])).toEqual(['fax 1'])
    for (const text of [before[3]?.tokens.fax, before[3]?.tokens.pin])
      await expect(valuesOf(again, [text])).rejects.toMatchObject({ code: 'not_found' })
    expect((await again.verifyRecords()).findings).toEqual([])
  })

  it('counts the values that do not convert, exactly, and takes back what it began when one comes meanwhile', async () => {
    const place = engine.fresh()
    const vault = await open(place.open(), OLD)
    await insertBefore(vault, 20)
    const session = vault.as(OWNER)
    const wrong = ['1.5', 'x', '', '12'].map((count, k) => ({ fields: { key: `wrong ${k}`, count } }))
    await session.insert('people', wrong as never)
    const tables = { ...OLD, people: { ...OLD.people, count: column.integer(PLAIN) } }
    const plan = await vault.planSchemaChange(schemaOf(tables), CONVERT)
    expect(plan.refusals.map(({ column: name, reason }) => [name, reason.match(/\d+/)?.[0]])).toEqual([['count', '3']])
    await expect(vault.applySchemaChange(plan)).rejects.toMatchObject({ code: 'failed_precondition' })
    const cheap = await vault.planSchemaChange(schemaOf(tables), CONVERT, { readsRecords: false })
    expect(cheap.steps.map(({ kind, rows }) => [kind, rows])).toEqual([
      ['fill', 24],
      ['erase', 24],
    ])
    await expect(vault.applySchemaChange(cheap)).rejects.toMatchObject({
      code: 'failed_precondition',
      details: [{ column: 'count' }],
    })
    // It goes on as before.
    await session.insertOne('people', { key: 'after', count: 'y' } as never)
    for (const key of ['wrong 0', 'wrong 1', 'wrong 2', 'after'])
      await session.insert('people', [{ fields: { key, count: '7' } }] as never, { upsert: 'key' } as never)
    await change(vault, tables, CONVERT)
    const counts = new Map((await recordsOf(vault)).map((fields) => [fields.key, fields.count]))
    expect([counts.get('wrong 0'), counts.get('wrong 3'), counts.get('old 5'), counts.get('after')]).toEqual([7, 12, 5, 7])
    expect((await vault.verifyRecords()).findings).toEqual([])
  })
})

/** Changes of a column that are refused, and a word of the reason. */
const REFUSED: readonly (readonly [object, object, SchemaMoves, string])[] = [
  [column.string(), column.integer(), {}, 'toInteger'],
  [column.json(), column.integer(), {}, 'no value'],
  [column.string(), column.integer(), { convert: { 't.c': 'toFloat' } }, 'toFloat'],
  [column.integer({ token: 'random' }), column.string({ token: 'random' }), {}, 'tokens'],
  [column.string({ token: 'transient' }), column.string({ token: 'random' }), {}, 'transient'],
  [column.string(), column.string({ encrypted: false, required: true }), {}, 'of its own'],
  [column.string(), column.string({ encrypted: false }), { convert: { 't.c': 'toText' } }, 'converter'],
  [column.integer({ index: 'sealed' }), column.float({ index: 'sealed' }), {}, 'Drop the index first'],
  [column.string({ index: 'sealed' }), column.string({ encrypted: false }), {}, 'Drop the index first'],
  [column.string({ index: 'sealed' }), column.string({ token: 'random' }), {}, 'in a change of its own'],
  [column.file(), column.string(), {}, 'files'],
  [column.file(), column.file(), { drop: { 't.c': 'erase' } }, 'the schema has it'],
]

it('what cannot be made anew is refused, with what to do', async () => {
  for (const [before, after, moves, word] of REFUSED) {
    const vault = await open(memoryStorage(), { t: { key: KEY.key, c: before } })
    const { refusals, steps } = await vault.planSchemaChange(schemaOf({ t: { key: KEY.key, c: after } }), moves)
    if (moves.drop === undefined) expect(steps).toEqual([])
    expect(refusals.map(({ table, column: name }) => [table, name])).toEqual([['t', 'c']])
    expect(refusals[0]?.reason).toContain(word)
    await vault.close()
  }
})

/** Where only one process works at a time, none waits long until others have looked: 15 ms. */
const openFaster = (storage: StorageHandle, tables: object) => open(storage, tables, 'on', portsFaster(1000))

/** A change that is killed at one of its calls of the storage, and run again. */
async function killedAt(call: number): Promise<boolean> {
  const sound = memoryStorage()
  const vault = await openFaster(sound, OLD)
  const before = await insertBefore(vault, 12)
  await vault.close().catch(() => {})
  const { storage, fail, mend } = faultyStorage(sound)
  const dying = await openFaster(storage, OLD)
  const plan = await dying.planSchemaChange(schemaOf(NEW), { ...CONVERT, ...ERASE })
  let calls = 0
  let isKilled = false
  fail(() => {
    isKilled ||= calls++ === call
    return isKilled ? new VaultError('unavailable', 'killed') : undefined
  })
  const failed = await dying.applySchemaChange(plan).then(
    () => false,
    () => true,
  )
  mend()
  goAhead(2n)
  // At its very end what fails is only the row of its job.
  if (!isKilled) expect(failed).toBe(false)
  const again = await openFaster(storage, OLD).catch(() => dying)
  await again.applySchemaChange(plan)
  const model = new Map(before.map((_, k) => [`old ${k}`, { key: `old ${k}`, ...person(k, true) }]))
  const second = await openFaster(storage, NEW)
  await expectModel(second, model)
  const parts = await storedParts(sound)
  expect(parts).toMatchObject({ tables: ['people'], transients: 0 })
  expect(parts.columns.filter((name) => /fax|pin|age|digest open|plain secret/.test(name))).toEqual([])
  expect((await second.verifyRecords()).findings).toEqual([])
  await second.close()
  return isKilled
}

it('records are verified by the schema of the time, and not by that of the beginning', async () => {
  const storage = memoryStorage()
  const vault = await open(storage, OLD)
  await insertBefore(vault, 300)
  let changing: Promise<void> | undefined
  const verified = await vault.verifyRecords({
    async onProgress() {
      changing ??= open(storage, OLD).then((other) => change(other, MADE_ANEW, CONVERT))
      await changing
    },
  })
  expect(verified).toMatchObject({ findings: [], recordCount: 301 })
})

it('a change that is killed at any call of the storage goes on, and ends as one that was not', async () => {
  let calls = 0
  while (await killedAt(calls)) calls += 1 + Math.floor(calls / 5)
  expect(calls).toBeGreaterThan(40)
})
