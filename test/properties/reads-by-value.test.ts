/** Property: reads by value find what a model finds, page by page, with sealed indexes and without, also while other handles write. */
import { expect, it } from 'vitest'
import { localKeys } from '../../src/adapters/keys/local-keys.ts'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { INDEX_RUNS } from '../../src/core/schema/system-tables.ts'
import { createVault } from '../../src/index.ts'
import type { StorageHandle } from '../../src/storage-port.ts'
import {
  type DrawnRead,
  drawFields,
  drawRead,
  findInModel,
  INDEXED_AND_SCANNED,
  type Modeled,
} from '../support/indexes/reads-by-value.ts'
import { type SeededRandom, seededRandom } from '../support/random/seeded-random.ts'
import { onEachStorage } from '../support/storages/engines.ts'
import { asLoose, type Cells, type LooseSession } from '../support/vaults/open-untyped.ts'
import { OWNER, TEST_SECRET } from '../support/vaults/test-vault.ts'

/** Records of each table: so many that an index is worth its use. */
const RECORDS = 1200
const TABLES = ['indexed', 'scanned'] as const

interface Page {
  readonly records: readonly { readonly id: string; readonly fields: Cells }[]
  readonly next?: string
}

async function open(storage: StorageHandle): Promise<LooseSession> {
  const vault = await createVault({ id: 'v1', schema: INDEXED_AND_SCANNED, storage, keys: localKeys({ key: TEST_SECRET }) })
  return asLoose(vault.as(OWNER))
}

/** Stores the same records in both tables, in several commits. */
async function store(session: LooseSession, random: SeededRandom): Promise<Readonly<Record<string, readonly Modeled[]>>> {
  const fields = Array.from({ length: RECORDS }, () => drawFields(random))
  const stored: Record<string, Modeled[]> = { indexed: [], scanned: [] }
  for (const table of TABLES) {
    for (let start = 0; start < RECORDS; start += 200) {
      const some = fields.slice(start, start + 200)
      const { records } = await session.insert(
        table,
        some.map((one) => ({ fields: one })),
      )
      for (const [index, { id }] of records.entries()) stored[table]?.push({ id, fields: some[index] ?? {} })
    }
  }
  return stored
}

/** Returns the ids of a read, page by page. */
async function walk(session: LooseSession, table: string, read: Cells, between?: () => Promise<unknown>): Promise<string[]> {
  const seen: string[] = []
  let after: string | undefined
  do {
    const [page] = await Promise.all([
      session.get(table, { ...read, ...(after === undefined ? {} : { after }), fields: ['age'] }) as Promise<Page>,
      between?.(),
    ])
    seen.push(...page.records.map(({ id }) => id))
    after = page.next
    // A walk that goes round would not end.
  } while (after !== undefined && seen.length <= 2 * RECORDS)
  return seen
}

/** Returns the reads that find something else than the model. */
async function wrongReads(
  session: LooseSession,
  stored: Readonly<Record<string, readonly Modeled[]>>,
  { random, count }: { readonly random: SeededRandom; readonly count: number },
): Promise<string[]> {
  const wrong: string[] = []
  for (let number = 0; number < count; number++) {
    const read = drawRead(random)
    const [limit, offset] = [random.pick([100, 250, 1000]), random.below(40)]
    for (const table of TABLES) {
      const found = findInModel(stored[table] ?? [], read).map(({ id }) => id)
      const { records } = await session.get(table, { ...read, offset, limit: 5 })
      const part = records.map(({ id }) => id)
      const isRight =
        isEqual(await walk(session, table, { ...read, limit }), found) && isEqual(part, found.slice(offset, offset + 5))
      if (!isRight) wrong.push(`${table} ${limit} ${offset} ${JSON.stringify(read)}`)
    }
  }
  return wrong
}

function isEqual(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((id, index) => id === other[index])
}

/** Counts the rows of records that storage returns to finds and scans. */
function counting(inner: StorageHandle): { readonly storage: StorageHandle; readonly count: () => number } {
  let count = 0
  const storage: StorageHandle = {
    ...inner,
    async find(table, filter, page) {
      const rows = await inner.find(table, filter, page)
      if (table.startsWith('records_')) count += rows.length
      return rows
    },
    async scan(table, filter, page) {
      const part = await inner.scan(table, filter, page)
      if (table.startsWith('records_')) count += 'ids' in part ? part.ids.length : part.cells.length
      return part
    },
  }
  return { storage, count: () => count }
}

onEachStorage('reads by value', (engine) => {
  it('find what a model finds, in its order, with sealed indexes and without', { timeout: 120_000 }, async () => {
    const random = seededRandom(`reads by value on ${engine.name}`)
    const session = await open(engine.fresh().open())
    const stored = await store(session, random)
    expect(await wrongReads(session, stored, { random, count: engine.name === 'memory' ? 40 : 12 })).toEqual([])
  })

  it('return each record that is left alone exactly once, whatever other handles change', { timeout: 120_000 }, async () => {
    const random = seededRandom(`changes beside reads by value on ${engine.name}`)
    const place = engine.fresh()
    const [one, other] = [await open(place.open()), await open(place.open())]
    const stored = await store(one, random)
    for (const table of TABLES) {
      const left = (stored[table] ?? []).filter((_, index) => index % 3 > 0)
      const others = (stored[table] ?? []).filter((_, index) => index % 3 === 0).map(({ id }) => id)
      for (let number = 0; number < 6; number++) {
        const read: DrawnRead =
          number < 4 ? { ...drawRead(random), orderBy: random.pick(['name', 'age', 'born', 'active']) } : drawRead(random)
        const seen = await walk(one, table, { ...read, limit: 150 }, async () => {
          await other.insert(table, [{ fields: drawFields(random) }])
          const [changed = '', gone = ''] = random.sample(others, 2)
          await other.updateOne(table, changed, drawFields(random))
          if (others.length > 100) await other.delete(table, others.splice(others.indexOf(gone), 1))
        })
        const untouched = new Set(left.map(({ id }) => id))
        expect(seen.filter((id) => untouched.has(id))).toEqual(findInModel(left, read).map(({ id }) => id))
      }
    }
  })
})

it('a first page in the order of an index reads few rows', async () => {
  const { storage, count } = counting(memoryStorage())
  const session = await open(storage)
  await store(session, seededRandom('rows that are read'))
  const rowsRead = async (table: string, read: Cells): Promise<number> => {
    const before = count()
    await session.get(table, read)
    return count() - before
  }
  for (const orderBy of ['name', { column: 'age', order: 'DESCENDING' }]) {
    expect(await rowsRead('scanned', { orderBy, limit: 10 })).toBe(RECORDS)
    expect(await rowsRead('indexed', { orderBy, limit: 10 })).toBeLessThan(100)
  }
  const { next } = (await session.get('indexed', { orderBy: 'active', limit: 200 })) as Page
  expect(await rowsRead('indexed', { orderBy: 'active', limit: 10, after: next })).toBeLessThan(100)
})

it('the property finds an index that has lost entries', async () => {
  const inner = memoryStorage()
  const random = seededRandom('a lost delta')
  const stored = await store(await open(inner), random)
  const lossy: StorageHandle = {
    ...inner,
    async find(table, filter, page) {
      const rows = await inner.find(table, filter, page)
      return table === INDEX_RUNS.name ? rows.slice(0, -1) : rows
    },
  }
  expect((await wrongReads(await open(lossy), stored, { random, count: 10 })).length).toBeGreaterThan(0)
})
