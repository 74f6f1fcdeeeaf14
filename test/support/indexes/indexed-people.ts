/** People with sealed indexes, random writes of them, and what their indexes must have: the key of each value of each record, once. */
import { decodeRecordIds } from '../../../src/core/barrier/record-ids.ts'
import { openState, readCatalogRows } from '../../../src/core/catalog/catalog-entries.ts'
import type { Segment } from '../../../src/core/index-runs/segment.ts'
import { indexKeys, splitKeys } from '../../../src/core/index-runs/trigrams.ts'
import { layoutSchema, type Table } from '../../../src/core/schema/layout.ts'
import { INDEX_RUNS } from '../../../src/core/schema/system-tables.ts'
import { beginningAgain, HeadCache, readBlocks, readHeads } from '../../../src/core/sealed-index/index-rows.ts'
import { compactIndexes, type IndexedTable } from '../../../src/core/sealed-index/merge-due.ts'
import type { MergeSizes } from '../../../src/core/sealed-index/merge-runs.ts'
import { digestVaultId } from '../../../src/core/sealing/envelope.ts'
import { toHex } from '../../../src/core/util/bytes.ts'
import { required } from '../../../src/core/util/lists.ts'
import { column } from '../../../src/index.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import { asLoose, type Cells, type LooseRead, type LooseVault } from '../vaults/open-untyped.ts'
import { SYSTEM_PORTS } from '../vaults/system-ports.ts'
import { OWNER } from '../vaults/test-vault.ts'
import { keyOfGroup } from './group-keys.ts'

const DAY = 86_400_000
const SEALED = { index: 'sealed', redaction: 'PLAIN_TEXT' } as const

/** A column of each type that can have an index, and others. */
export const INDEXED_TABLES = {
  people: {
    email: column.string({ ...SEALED, unique: true, token: 'random' }),
    name: column.string({ ...SEALED, index: { sealed: ['order', 'contains'] }, token: 'deterministic' }),
    age: column.integer(SEALED),
    paid: column.decimal({ ...SEALED, scale: 2 }),
    score: column.float(SEALED),
    active: column.boolean(SEALED),
    born: column.date(SEALED),
    wakes: column.time(SEALED),
    seen: column.datetime(SEALED),
    note: column.string({ ...SEALED, index: { sealed: ['contains'] } }),
  },
  visits: { person: column.string({ ...SEALED, searchable: true }), at: column.datetime(SEALED) },
}

export const INDEXED_RULES = {
  retention: { visits: { expiresAfter: 'P3D' }, 'people.name': { expiresAfter: 'P2D', becomes: 'null' } },
  subjects: {
    person: { table: 'people', ownKeys: true, relations: [{ table: 'visits', column: 'person', references: 'people' }] },
  },
} as const

const VAULT = digestVaultId(SYSTEM_PORTS.hash, 'v1')
type TableName = keyof typeof INDEXED_TABLES
const NAMES: readonly TableName[] = ['people', 'visits']

/** Returns a table as it is stored: a change of the schema adds indexes, and drops them. */
export async function storedTable({ storage, ring }: LooseVault, name: string): Promise<Table> {
  const { entries } = await readCatalogRows(storage)
  const { schema } = openState({ ring, vault: VAULT }, required(entries.get('schema')))
  return required(layoutSchema(schema).tables.get(name))
}

/**
 * What the indexes of a table say in all: the weight of each row under each key of each index, by their texts. Those that add up to nothing, and those of indexes
 * that ended, are left out; with `isRaw` those that add up to nothing are not. Merges can go on meanwhile.
 */
export function storedKeys(
  vault: LooseVault,
  name: TableName,
  { isRaw = false }: { readonly isRaw?: boolean } = {},
): Promise<ReadonlyMap<string, number>> {
  return beginningAgain(() => keysNow(vault, name, isRaw))
}

async function keysNow(vault: LooseVault, name: TableName, isRaw: boolean): Promise<ReadonlyMap<string, number>> {
  const { objectId, indexes } = await indexesOf(vault, name)
  const live = new Set(indexes.map((index) => index.objectId))
  const rows = rowsOf(vault)
  const spaces = [objectId, ...live]
  const { heads } = await readHeads(rows, new HeadCache(), { spaces, pace: { worked: async () => {} } })
  const sums = new Map<string, number>()
  const add = (index: number, { groups, firsts, rows: ids, weights, ...keys }: Segment): void => {
    if (!live.has(index)) return
    for (let group = 0; group < groups; group++) {
      const key = toHex(keyOfGroup({ groups, firsts, rows: ids, weights, ...keys }, group))
      for (let entry = firsts[group] ?? 0; entry < (firsts[group + 1] ?? 0); entry++) {
        const text = `${index} ${key} ${ids[entry]}`
        sums.set(text, (sums.get(text) ?? 0) + (weights[entry] ?? 0))
      }
    }
  }
  for (const head of heads) {
    const segments = head.kind === 'delta' ? head.segments : []
    for (const [index, segment] of segments) add(index, segment)
    if (head.kind === 'small') add(head.space, head.segment)
    if (head.kind === 'run') for (const block of await readBlocks(rows, [...head.run.ids])) add(head.space, block)
  }
  return new Map([...sums].filter(([, weight]) => isRaw || weight !== 0).sort(([left], [right]) => (left < right ? -1 : 1)))
}

/** Returns the number of deltas of a table. */
export async function countDeltas(vault: LooseVault, name: TableName): Promise<number> {
  const { objectId } = await storedTable(vault, name)
  const filter = { kind: 'compare', column: 'space', operator: '=', value: objectId } as const
  return Number((await vault.storage.aggregate(INDEX_RUNS.name, filter, [{ kind: 'count' }]))[0])
}

/** Merges all that the indexes have. */
export async function mergeIndexes(vault: LooseVault, names: readonly string[] = NAMES, sizes?: MergeSizes): Promise<void> {
  const catalog = { keys: { generation: 1 }, isCurrent: async () => true, reload: async () => {} }
  const between = () => SYSTEM_PORTS.scheduler.yield()
  const ports = { ...SYSTEM_PORTS, ...rowsOf(vault), catalog, between, cache: new HeadCache(), ...(sizes && { sizes }) }
  for (const name of names) await compactIndexes(ports, await indexesOf(vault, name))
}

function rowsOf({ storage, ring }: LooseVault) {
  return { storage, keys: { ring, vault: VAULT } }
}

async function indexesOf(vault: LooseVault, name: string): Promise<IndexedTable> {
  const { objectId, indexed } = await storedTable(vault, name)
  return {
    objectId,
    indexes: indexed.map(({ index, column: { type } }) => ({ objectId: index.objectId, hasSums: type.scale !== undefined })),
  }
}

/**
 * The names of tables whose indexes do not have the keys of the records that the vault returns, each once. What they have of rows that cannot be opened does not
 * count: of people who were forgotten while another process wrote a record of theirs.
 */
export async function wrongTables(vault: LooseVault): Promise<string[]> {
  const wrong: string[] = []
  for (const name of NAMES) {
    const { keys, rows } = await keysOfRecords(vault, name)
    const { physical } = await storedTable(vault, name)
    const all = await vault.storage.find(physical.name, { kind: 'all' }, { order: 'asc', limit: 100_000, columns: [] })
    const known = new Set(rows)
    const closed = all.filter(({ id }) => !known.has(id)).map(({ id }) => ` ${id}`)
    const stored = [...(await storedKeys(vault, name))].filter(([text]) => !closed.some((end) => text.endsWith(end)))
    if (JSON.stringify(stored) !== JSON.stringify(keys.map((text) => [text, 1]))) wrong.push(name)
  }
  return wrong
}

/** Returns the rows of the records that the vault returns, and what indexes must have of them. */
async function keysOfRecords(vault: LooseVault, name: TableName) {
  const { ring } = vault
  const table = await storedTable(vault, name)
  const records: LooseRead[] = []
  for await (const page of asLoose(vault.vault.as(OWNER)).pages(name, { limit: 1000 })) records.push(...page.records)
  const ids = records.map(({ id }) => id)
  const rows = decodeRecordIds(ring, table, ids)
  const keys = records.flatMap(({ fields }, position) =>
    table.indexed.flatMap(({ column: { name: own, type }, index: { objectId, kind } }) => {
      const value = fields[own] ?? null
      const found = splitKeys(kind, indexKeys(kind, type, value === null ? null : type.parse(value)))
      return found.map((key) => `${objectId} ${toHex(key)} ${rows[position]}`)
    }),
  )
  return { rows, keys: keys.sort() }
}

/** A vault, and the ids of people that it can have. */
export interface IndexedWorld {
  readonly vault: LooseVault
  readonly random: SeededRandom
  readonly people: string[]
}

const EMAILS = Array.from({ length: 30 }, (_, n) => `p${n}@acme.example`)

/** Some values of a person. Long texts share their first 64 bytes, and equal values are frequent. */
export function randomPerson(random: SeededRandom): Cells {
  const values: Cells = {
    name: random.pick(['Ann', 'Bo', 'Åsa', '', 'x'.repeat(70), `${'x'.repeat(70)}y`, '😀'.repeat(17)]),
    age: random.pick([0, -1, 7, 2 ** 40, '-9223372036854775808']),
    paid: random.pick(['0.00', '-3.50', '9999999999999999.99']),
    score: random.pick([0, -0.5, 1e300, 3]),
    active: random.chance(0.5),
    born: random.pick(['0001-01-01', '1970-01-01', '2026-02-28']),
    wakes: random.pick(['06:30:00', '23:59:59.5']),
    seen: random.pick(['2026-01-01T00:00:00Z', '1969-12-31T23:59:59.999Z']),
    note: random.pick(['a', 'b', 'Straße 7', 'x'.repeat(10_001), '\u{1F600}\u{1F601}\u{1F602}\u{1F603}']),
  }
  return Object.fromEntries(
    Object.entries(values)
      .filter(() => random.chance(0.7))
      .map(([name, value]) => [name, random.chance(0.15) ? null : value]),
  )
}

/** Inserts as many people, with names and ages that differ, as it takes for indexes to have several blocks. */
export async function insertPeople({ session }: LooseVault, random: SeededRandom): Promise<void> {
  for (let call = 0; call < 2; call++) {
    const people = Array.from({ length: 400 }, (_, n) => ({
      fields: { ...randomPerson(random), name: `${random.below(2 ** 32)} of ${call} ${n}`, age: random.below(2 ** 32) },
    }))
    await session.insert('people', people)
  }
}

/** The writes, by name. Each changes records in another way; those that are refused change nothing. */
export const WRITES: Readonly<Record<string, (world: IndexedWorld) => Promise<unknown>>> = {
  async insert({ vault: { session }, random, people }) {
    const records = Array.from({ length: 1 + random.below(30) }, () => ({ fields: randomPerson(random) }))
    people.push(...(await session.insert('people', records)).records.map(({ id }) => id))
  },
  async together({ vault: { session }, random, people }) {
    const calls = Array.from({ length: 8 }, () => session.insertOne('people', randomPerson(random)))
    people.push(...(await Promise.all(calls)).map(({ id }) => id))
  },
  async visits({ vault: { session }, random, people }) {
    const fields = { person: random.chance(0.2) || people.length === 0 ? null : random.pick(people), at: '2026-01-01T00:00:00Z' }
    await session.insert('visits', [{ fields }, { fields }])
  },
  async upsert({ vault: { session }, random, people }) {
    const records = random.sample(EMAILS, 6).map((email) => ({ fields: { ...randomPerson(random), email } }))
    people.push(...(await session.insert('people', records, { upsert: 'email' })).records.map(({ id }) => id))
  },
  ignore: ({ vault: { session }, random }) =>
    session.insert(
      'people',
      random.sample(EMAILS, 4).map((email) => ({ fields: { ...randomPerson(random), email } })),
      { onConflict: 'ignore' },
    ),
  update: ({ vault: { session }, random, people }) =>
    session.update(
      'people',
      random.sample(people, 4).map((id) => ({ id, fields: { ...randomPerson(random), note: 'c' } })),
    ),
  turns: ({ vault: { session }, random, people }) => {
    const id = random.pick(people)
    return Promise.allSettled([1, 2, 3, 4].map((age) => session.updateOne('people', id, { age })))
  },
  where: ({ vault: { session }, random }) =>
    session.updateWhere('people', { email: random.pick(EMAILS) }, { age: random.below(9) }),
  move: ({ vault: { session }, random, people }) =>
    session.updateWhere('visits', { person: random.pick(people) }, { person: random.pick(people), at: '2026-01-02T00:00:00Z' }),
  batch: ({ vault: { session }, random, people }) => {
    const [first, second, third] = random.sample(people, 3)
    return session.batch([
      { insert: 'people', fields: randomPerson(random) },
      { insert: 'people', fields: { email: random.pick(EMAILS), age: 1 }, upsert: 'email' },
      { update: 'people', id: first, fields: { age: 5, name: 'Bo' } },
      { delete: 'people', id: second },
      { update: 'people', id: third, fields: { paid: '1.00' } },
    ])
  },
  transaction: ({ vault: { vault }, random, people }) =>
    vault.transaction(async (inner) => {
      const session = asLoose(inner.as(OWNER))
      await session.insert('people', [{ fields: randomPerson(random) }])
      await session.updateOne('people', random.pick(people), { name: 'Cy', age: 3 }).catch(() => {})
      await session.delete('people', random.sample(people, 1)).catch(() => {})
      if (random.chance(0.5)) throw new Error('rolled back')
    }),
  delete: ({ vault: { session }, random, people }) => session.delete('people', random.sample(people, 3)),
  deleteWhere: ({ vault: { vault }, random }) => vault.as(OWNER).deleteWhere('people', { email: random.pick(EMAILS) }),
  async sweep({ vault: { vault, clock }, random }) {
    clock.ms += random.below(2) * DAY
    await vault.sweep()
  },
  forget: ({ vault: { vault }, random, people }) =>
    vault.subjects.forget(OWNER, 'person', random.pick(people), { reason: 'request 7' }),
  empty: ({ vault: { session }, random }) => (random.chance(0.1) ? session.delete('visits', '*') : Promise.resolve()),
}

/** Does one of the writes. Returns its name, and the error that it ended with. */
export async function writeSomething(world: IndexedWorld): Promise<{ readonly name: string; readonly error?: unknown }> {
  const name = world.people.length < 10 ? 'insert' : world.random.pick(Object.keys(WRITES))
  try {
    await WRITES[name]?.(world)
    return { name }
  } catch (error) {
    return { name, error }
  }
}
