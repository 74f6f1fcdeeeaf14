/** Sealed indexes that a change of the schema adds and drops beside writers: they have the keys of all records, or leave nothing. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../src/adapters/memory/memory-storage.ts'
import type { Storage, StorageHandle } from '../../../src/core/ports/storage.ts'
import { checkSchema } from '../../../src/core/schema/define-schema.ts'
import { INDEX_BLOCKS, INDEX_RUNS } from '../../../src/core/schema/system-tables.ts'
import type { SchemaMoves } from '../../../src/core/schema-change/schema-moves.ts'
import { SIZES } from '../../../src/core/sealed-index/merge-runs.ts'
import { column, type SchemaDefinition, type Vault } from '../../../src/index.ts'
import {
  INDEXED_RULES,
  INDEXED_TABLES,
  type IndexedWorld,
  mergeIndexes,
  storedKeys,
  storedTable,
  WRITES,
  writeSomething,
  wrongTables,
} from '../../support/indexes/indexed-people.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { openFast } from '../../support/vaults/fast-ports.ts'
import { asLoose, openLoose } from '../../support/vaults/open-untyped.ts'
import { OWNER } from '../../support/vaults/test-vault.ts'

/** The tables with no sealed index but that of `email`. */
const BEFORE = {
  people: { ...withoutIndexes(INDEXED_TABLES.people), email: INDEXED_TABLES.people.email },
  visits: withoutIndexes(INDEXED_TABLES.visits),
}

function withoutIndexes(columns: SchemaDefinition[string]): SchemaDefinition[string] {
  return Object.fromEntries(
    Object.entries(columns).map(([name, { index: _, ...definition }]) => [name, definition as (typeof columns)[string]]),
  )
}

const schemaOf = (tables: SchemaDefinition) => checkSchema(tables, INDEXED_RULES)

async function change(vault: Vault, tables: SchemaDefinition, moves?: SchemaMoves): Promise<void> {
  const plan = await vault.planSchemaChange(schemaOf(tables), moves)
  expect(plan.refusals).toEqual([])
  await vault.applySchemaChange(plan)
  const left = await vault.planSchemaChange(schemaOf(tables))
  expect(left.steps.filter(({ kind }) => kind !== 'now')).toEqual([])
}

/** Opens a vault, and writes at random until it is to stop. */
async function busyWorld(storage: StorageHandle, seed: string) {
  const vault = await openLoose(storage, BEFORE, { rules: INDEXED_RULES })
  const world: IndexedWorld = { vault, random: seededRandom(seed), people: [] }
  for (let step = 0; step < 8; step++) await WRITES.insert?.(world)
  let [isOver, rounds] = [true, 0]
  let running = Promise.resolve()
  return {
    world,
    start() {
      isOver = false
      running = (async () => {
        for (rounds = 0; !isOver; rounds++) await writeSomething(world)
      })()
    },
    async stop() {
      isOver = true
      await running
      return rounds
    },
  }
}

/** What is stored of indexes beside deltas: their physical columns, and the spaces of their runs. */
async function partsOf(storage: StorageHandle): Promise<{ readonly cells: string[]; readonly spaces: number[] }> {
  const tables = await storage.snapshot(async (inner) => inner.tables)
  const heads = await storage.find(INDEX_RUNS.name, { kind: 'all' }, { order: 'asc', limit: 100_000 })
  return {
    cells: tables.flatMap(({ columns }) => columns.flatMap(({ name }) => (name.startsWith('indexed_') ? name : []))).sort(),
    spaces: [...new Set(heads.map(({ space }) => Number(space)))].sort((left, right) => left - right),
  }
}

/** A fill that marks no row. */
function forgetsMarks(sound: StorageHandle): StorageHandle {
  const isMark = ([cell, value]: readonly [string, unknown]): boolean => cell.startsWith('indexed_') && value === 1
  const wrap = (inner: Storage): Storage => ({
    ...inner,
    transaction: (work, options) => inner.transaction((within) => work(wrap(within)), options),
    update: (table, patches) =>
      inner.update(
        table,
        patches.map((patch) => ({ ...patch, set: Object.fromEntries(Object.entries(patch.set).filter((one) => !isMark(one))) })),
      ),
  })
  return { ...sound, ...wrap(sound) }
}

onEachStorage('sealed indexes', (engine) => {
  it('are added, dropped and added again beside writers of the older schema', async () => {
    const place = engine.fresh()
    const { world, start, stop } = await busyWorld(place.open(), 'added')
    const storage = place.open()
    const changing = (await openFast(storage, schemaOf(BEFORE))) as unknown as Vault
    const found: string[][] = []
    for (const tables of [INDEXED_TABLES, BEFORE, INDEXED_TABLES]) {
      start()
      await change(changing, tables)
      expect(await stop()).toBeGreaterThan(0)
      expect(await wrongTables(world.vault)).toEqual([])
      await mergeIndexes(world.vault)
      expect((await changing.verifyRecords()).findings).toEqual([])
      found.push((await partsOf(storage)).cells)
    }
    const [first = [], second = [], third = []] = found
    expect([first.length, second.length, third.length]).toEqual([13, 1, 13])
    expect(third.filter((cell) => first.includes(cell))).toEqual(second)
    expect((await storedKeys(world.vault, 'people')).size).toBeGreaterThan(100)
  })
})

const PLAIN = { redaction: 'PLAIN_TEXT' } as const
const SEALED = { ...PLAIN, index: 'sealed' } as const
const NOTES = { notes: { text: column.string(SEALED) } }
const FEW = { people: { name: column.string(SEALED), age: column.integer(SEALED), city: column.string(PLAIN) }, ...NOTES }

/** A vault of some people, with runs and deltas. */
async function openFew(storage: StorageHandle = memoryStorage()) {
  const vault = (await openFast(storage, checkSchema(FEW))) as unknown as Vault
  const session = asLoose(vault.as(OWNER))
  const insert = (from: number, length: number) =>
    session.insert(
      'people',
      Array.from({ length }, (_, k) => ({ fields: { name: `name ${from + k}`, age: k * 1_000_003, city: 'x'.repeat(500) } })),
    )
  await insert(0, 200)
  await session.insert('notes', [{ fields: { text: 'a' } }])
  const loose = await openLoose(storage, FEW)
  // Small blocks, so that runs have some.
  await mergeIndexes(loose, ['people', 'notes'], { ...SIZES, blockBytes: 512, leastEntries: 8 })
  await insert(200, 50)
  return { vault, storage, session, loose }
}

async function apply(vault: Vault, tables: SchemaDefinition, moves?: SchemaMoves): Promise<void> {
  const plan = await vault.planSchemaChange(checkSchema(tables), moves)
  expect(plan.refusals).toEqual([])
  await vault.applySchemaChange(plan)
  const drop = moves?.drop
  expect((await vault.planSchemaChange(checkSchema(tables), drop && { drop })).steps).toEqual([])
  expect((await vault.verifyRecords()).findings).toEqual([])
}

describe('a change of the schema', () => {
  it('that drops a sealed index deletes its runs and blocks, and no others', async () => {
    const { vault, storage, loose } = await openFew()
    const { byName } = await storedTable(loose, 'people')
    const [name, age] = [byName.get('name')?.index?.objectId, byName.get('age')?.index?.objectId]
    const blocks = async () => (await storage.find(INDEX_BLOCKS.name, { kind: 'all' }, { order: 'asc', limit: 1000 })).length
    const before = await blocks()
    expect((await partsOf(storage)).spaces).toEqual(expect.arrayContaining([name, age]))
    await apply(vault, { ...FEW, people: { ...FEW.people, name: column.string({ ...PLAIN, required: true }) } })
    const { spaces, cells } = await partsOf(storage)
    expect([spaces.includes(name ?? 0), spaces.includes(age ?? 0), cells.includes(`indexed_${name}`)]).toEqual([
      false,
      true,
      false,
    ])
    expect(await blocks()).toBeLessThan(before)
    expect(await blocks()).toBeGreaterThan(0)
  })

  it('that erases a column or table drops its indexes, and cells of bodies too', async () => {
    const { vault, storage, session, loose } = await openFew()
    const { physical } = await storedTable(loose, 'people')
    const bytes = async () => {
      const rows = await storage.find(physical.name, { kind: 'all' }, { order: 'asc', limit: 1000 })
      return rows.reduce((most, { body }) => Math.max(most, (body as Uint8Array).length), 0)
    }
    expect(await bytes()).toBeGreaterThan(500)
    await apply(
      vault,
      { people: { age: FEW.people.age } },
      { drop: { 'people.city': 'erase', 'people.name': 'erase', notes: 'erase' } },
    )
    expect(await bytes()).toBeLessThan(150)
    const { spaces, cells } = await partsOf(storage)
    const { objectId, byName } = await storedTable(loose, 'people')
    const age = byName.get('age')?.index?.objectId ?? 0
    expect([cells, spaces]).toEqual([[`indexed_${age}`], [objectId, age].sort((left, right) => left - right)])
    expect((await session.get('people', { limit: 1000 })).records).toHaveLength(250)
  })

  it('that adds what texts contain to an index, and drops it again, keeps the index of order', async () => {
    const { vault, loose } = await openFew()
    const kinds = async () =>
      (await storedTable(loose, 'people')).indexed.map(({ column: { name }, index }) => [name, index.kind])
    const apply = async (tables: SchemaDefinition) => vault.applySchemaChange(await vault.planSchemaChange(checkSchema(tables)))
    const first = await kinds()
    const both = { ...SEALED, index: { sealed: ['order', 'contains'] } } as const
    await apply({ ...FEW, people: { ...FEW.people, name: column.string(both) } })
    expect(await kinds()).toEqual([first[0], ['name', 'contains'], ...first.slice(1)])
    expect((await vault.verifyRecords()).findings).toEqual([])
    await apply({ ...FEW, people: { ...FEW.people, name: column.string({ ...SEALED, index: { sealed: ['order'] } }) } })
    expect(await kinds()).toEqual(first)
    expect((await vault.verifyRecords()).findings).toEqual([])
  })

  it('that renames, or makes a column anew with other tokens, keeps its index', async () => {
    const { vault, loose } = await openFew()
    const index = (await storedTable(loose, 'people')).byName.get('name')?.index
    const people = { ...FEW.people, name: column.string({ ...SEALED, token: 'random' }) }
    await apply(vault, { ...FEW, people })
    const { age, ...others } = people
    await apply(
      vault,
      { persons: { years: age, ...others }, ...NOTES },
      { rename: { people: 'persons', 'persons.age': 'years' } },
    )
    const { byName } = await storedTable(loose, 'persons')
    expect([byName.get('name')?.index, byName.get('years')?.index?.objectId]).toEqual([index, expect.any(Number)])
  })

  it.each([
    ['as it is', (storage: StorageHandle) => storage, []],
    ['planted', forgetsMarks, ['missing_entry']],
  ] as const)('that marks the rows of an index: %s', async (_name, fault, kinds) => {
    const { storage } = await openFew()
    const changing = (await openFast(fault(storage), checkSchema(FEW))) as unknown as Vault
    const people = { ...FEW.people, city: column.string(SEALED) }
    await changing.applySchemaChange(await changing.planSchemaChange(checkSchema({ ...FEW, people })))
    expect(Object.keys((await changing.verifyRecords()).counts)).toEqual(kinds)
  })
})
