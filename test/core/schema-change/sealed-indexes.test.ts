/** Sealed indexes that a change of the schema adds and drops beside writers: they have the keys of all records, or leave nothing. */
import { expect, it } from 'vitest'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { checkSchema } from '../../../src/core/schema/define-schema.ts'
import { INDEX_RUNS } from '../../../src/core/schema/system-tables.ts'
import type { SchemaMoves } from '../../../src/core/schema-change/schema-moves.ts'
import type { SchemaDefinition, Vault } from '../../../src/index.ts'
import {
  INDEXED_RULES,
  INDEXED_TABLES,
  type IndexedWorld,
  storedKeys,
  WRITES,
  writeSomething,
  wrongTables,
} from '../../support/indexes/indexed-people.ts'
import { seededRandom } from '../../support/random/seeded-random.ts'
import { onEachStorage } from '../../support/storages/engines.ts'
import { openFast } from '../../support/vaults/fast-ports.ts'
import { openLoose } from '../../support/vaults/open-untyped.ts'

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

/** Opens a vault, and writes at random until it is told to stop. */
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
      found.push((await partsOf(storage)).cells)
    }
    const [first = [], second = [], third = []] = found
    expect([first.length, second.length, third.length]).toEqual([11, 1, 11])
    expect(third.filter((cell) => first.includes(cell))).toEqual(second)
    expect((await storedKeys(world.vault, 'people')).size).toBeGreaterThan(100)
  })
})
