/** Benchmark: forgetting one person of many, with records in five tables: the CPU of the first call of a process, of the median and of 95 of 100. */
import { localKeys } from '../../src/adapters/keys/index.ts'
import { at } from '../../src/core/util/lists.ts'
import { column, createVault, defineSchema } from '../../src/index.ts'
import { dropSchema } from '../baselines/postgres-plaintext.ts'
import { OWNER, SECRET, VAULT } from '../fixtures/people-vaults.ts'
import { compareWithLimit } from '../measuring/compare.ts'
import { median } from '../measuring/median.ts'
import { openPlace, type VaultPlace } from '../measuring/writers.ts'
import type { Entry } from '../report/result-shape.ts'
import { BATCH, type Benchmark, type RunConfig } from '../runner/run-config.ts'

/** Maximum milliseconds of CPU of one person. */
const LIMIT = 20
/** People who are forgotten. Each has five orders with an item, a shipment and a note each; the others have one. */
const FORGOTTEN = 100
const ORDERS = 5

const email = { columnGroup: 'email', normalize: ['trim', 'lowercase'] } as const
const schema = defineSchema(
  {
    people: {
      name: column.string({ token: 'random' }),
      email: column.string({ ...email, unique: true }),
      pin: column.string({ token: 'transient' }),
    },
    orders: {
      person: column.string({ searchable: true }),
      number: column.string({ encrypted: false, unique: true }),
      address: column.string(),
    },
    items: { order_id: column.string({ encrypted: false, index: true }), label: column.string() },
    shipments: { number: column.string({ encrypted: false, index: true }), sign: column.string() },
    notes: { email: column.string({ ...email, searchable: true }), text: column.string() },
  },
  {
    subjects: {
      person: {
        table: 'people',
        relations: [
          { table: 'orders', column: 'person', references: 'people' },
          { table: 'items', column: 'order_id', references: 'orders' },
          { table: 'shipments', column: 'number', equals: 'orders.number' },
          { table: 'notes', column: 'email', equals: 'people.email' },
        ],
      },
    },
  },
)

export const forgetBenchmark: Benchmark = {
  names: ['forget'],
  storages: {
    sqlite: (config) => measureForgetting(config, { kind: 'sqlite', filename: config.environments.sqliteFile() }),
    async postgres(config) {
      const pool = config.environments.postgresPool()
      const schemaName = config.environments.postgresName()
      const url = pool.options.connectionString ?? ''
      const entries = await measureForgetting(config, { kind: 'postgres', url, schema: schemaName })
      await dropSchema(pool, schemaName)
      return entries
    },
  },
}

const open = (place: VaultPlace) =>
  createVault({ id: VAULT, schema, storage: openPlace(place), keys: localKeys({ key: SECRET }) })

async function measureForgetting({ scale: { rows } }: RunConfig, place: VaultPlace): Promise<readonly Entry[]> {
  const filled = await open(place)
  const ids = await fill(filled, rows)
  await filled.close()
  // Nothing is known of the vault but what opening it reads.
  const vault = await open(place)
  const spent: number[] = []
  for (const id of ids) {
    const from = process.cpuUsage()
    await vault.subjects.forget(OWNER, 'person', id, { reason: 'measured' })
    const { user, system } = process.cpuUsage(from)
    spent.push((user + system) / 1000)
  }
  await vault.close()
  const [first = 0, ...next] = spent
  const most = at(
    next.toSorted((left, right) => left - right),
    Math.ceil(next.length * 0.95) - 1,
  )
  const subject = (name: string) => ({ benchmark: `forget: ${name}`, storage: place.kind, rows }) as const
  const limited = { limit: LIMIT, unit: 'ms', note: ' CPU' } as const
  return [
    // Most of it compiles what is called once, so it is no target.
    compareWithLimit(subject('first of a process'), { ...limited, figure: first, isReported: true }),
    compareWithLimit(subject('median'), { ...limited, figure: median(next) }),
    compareWithLimit(subject('95 %'), { ...limited, figure: most }),
  ]
}

/** Stores people with their records, and returns the ids of those to forget. */
async function fill(vault: Awaited<ReturnType<typeof open>>, rows: number): Promise<readonly string[]> {
  const session = vault.as(OWNER)
  const forgotten: string[] = []
  for (let start = 0; start < rows; start += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, rows - start) }, (_, index) => start + index)
    const people = numbers.map((n) => ({ fields: { name: `Ann ${n}`, email: `ann.${n}@example.org`, pin: `${n}` } }))
    const { records } = await session.insert('people', people)
    const owned = numbers.flatMap((n, index) => {
      const isForgotten = n % Math.ceil(rows / FORGOTTEN) === 0
      if (isForgotten) forgotten.push(at(records, index).id)
      return Array.from({ length: isForgotten ? ORDERS : 1 }, (_, k) => ({
        n,
        person: at(records, index).id,
        number: `${n}/${k}`,
      }))
    })
    for (let from = 0; from < owned.length; from += BATCH) {
      const some = owned.slice(from, from + BATCH)
      const orders = some.map(({ person, number }) => ({ fields: { person, number, address: `address of ${number}` } }))
      const { records: placed } = await session.insert('orders', orders)
      const items = placed.map(({ id }, index) => ({ fields: { order_id: id, label: `item ${index}` } }))
      await session.insert('items', items)
      const shipments = some.map(({ number }) => ({ fields: { number, sign: `sign of ${number}` } }))
      await session.insert('shipments', shipments)
      const notes = some.map(({ n }) => ({ fields: { email: `ann.${n}@example.org`, text: `note of ${n}` } }))
      await session.insert('notes', notes)
    }
  }
  return forgotten
}
