/** Benchmark: how the rate of each kind of operation changes while a table and a trail grow to a hundred times their size. */
import { memoryStorage } from '../../src/adapters/memory/index.ts'
import { postgresStorage } from '../../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { at } from '../../src/core/util/lists.ts'
import type { StorageHandle } from '../../src/storage-port.ts'
import { dropSchema } from '../baselines/postgres-plaintext.ts'
import { type CustomerVaultPair, openCustomerVaults } from '../fixtures/customer-vaults.ts'
import { fillTrail, type Trail } from '../fixtures/trails.ts'
import { randomPositions } from '../measuring/check-reads.ts'
import type { Timing, Variant } from '../measuring/harness.ts'
import { measureGrowth, type SizedVariant } from '../measuring/measure-growth.ts'
import { sequentialCalls } from '../measuring/sequential-calls.ts'
import type { Entry, StorageName } from '../report/result-shape.ts'
import { BATCH, type Benchmark, type RunConfig } from '../runner/run-config.ts'
import { listing, verifying } from './audit-trail.ts'
import { selectByEmail } from './query-equal.ts'
import { BY_PATTERN, scanning } from './query-scans.ts'

export const growthBenchmark: Benchmark = {
  names: ['growth'],
  storages: {
    sqlite: (config) => measureOn(config, 'sqlite', async () => sqliteStorage({ filename: config.environments.sqliteFile() })),
    postgres: measureOnPostgres,
    memory: (config) => measureOn(config, 'memory', async () => memoryStorage()),
  },
}

async function measureOnPostgres(config: RunConfig): Promise<Entry[]> {
  const pool = config.environments.postgresPool()
  const schemas: string[] = []
  const entries = await measureOn(config, 'postgres', async () => {
    const schema = config.environments.postgresName()
    schemas.push(schema)
    return postgresStorage({ pool, schema })
  })
  for (const schema of schemas) await dropSchema(pool, schema)
  return entries
}

/** The storage of a growing table, and how to open one more. */
type OpenStorage = () => Promise<StorageHandle>

async function measureOn(config: RunConfig, storage: StorageName, open: OpenStorage): Promise<Entry[]> {
  return [...(await measureTables(config, storage, open)), ...(await measureTrails(config, storage, open))]
}

/** A table of some size. */
interface SizedTable {
  readonly rows: number
  readonly vaults: CustomerVaultPair
  readonly ids: readonly string[]
  readonly emails: readonly string[]
}

async function measureTables(config: RunConfig, storage: StorageName, open: OpenStorage): Promise<Entry[]> {
  const { timing, slowTiming, growth } = config.scale
  const tables: SizedTable[] = []
  for (const rows of growth) tables.push(await fillTable(config, await open(), rows))
  const entries: Entry[] = []
  const add = async (series: string, rounds: Timing, toVariant: (table: SizedTable) => Variant): Promise<void> => {
    const sized = tables.map((table): SizedVariant => ({ rows: table.rows, variant: toVariant(table) }))
    entries.push(...(await measureGrowth({ series, storage, timing: rounds }, sized)))
  }
  await add('get 1, audit off', timing, ({ vaults, ids }) => callsOf(config, ids, vaults.unaudited.getOne))
  await add('query by =, audit off', timing, ({ vaults, emails }) =>
    callsOf(config, emails.map(selectByEmail), vaults.unaudited.query),
  )
  await add('count by LIKE, sealed', slowTiming, ({ rows, vaults }) =>
    scanning('strongroom', rows, () => vaults.audited.query(BY_PATTERN)),
  )
  // Last, because it makes the tables longer.
  await add('insert 1,000', timing, ({ vaults }) => insertsInto(config, vaults))
  for (const { vaults } of tables) await vaults.close()
  return entries
}

/** Maximum ids and addresses kept of a table. */
const MAX_KEPT = 10_000

async function fillTable({ people }: RunConfig, storage: StorageHandle, rows: number): Promise<SizedTable> {
  const vaults = await openCustomerVaults(storage)
  const [ids, emails]: [string[], string[]] = [[], []]
  const step = Math.ceil(rows / MAX_KEPT)
  for (let done = 0; done < rows; done += BATCH) {
    const customers = people.nextCustomers(Math.min(BATCH, rows - done))
    const inserted = await vaults.unaudited.insert(customers)
    for (let index = 0; index < customers.length; index += step) {
      ids.push(at(inserted, index))
      emails.push(at(customers, index).email)
    }
  }
  return { rows, vaults, ids, emails }
}

/** One call per item, of items drawn from a list. */
function callsOf<T>(config: RunConfig, items: readonly T[], call: (item: T) => unknown): Variant {
  const prepareItems = () => randomPositions(config, items.length, 1).map((positions) => at(items, at(positions, 0)))
  return sequentialCalls({ name: 'strongroom', prepareItems, call })
}

function insertsInto({ people }: RunConfig, { audited }: CustomerVaultPair): Variant {
  return sequentialCalls({
    name: 'strongroom',
    prepareItems: () => [people.nextCustomers(BATCH)],
    call: audited.insert,
    operationsPerCall: BATCH,
  })
}

async function measureTrails(config: RunConfig, storage: StorageName, open: OpenStorage): Promise<Entry[]> {
  const { timing, slowTiming, growth } = config.scale
  const trails: Trail[] = []
  for (const events of growth) trails.push(await fillTrail(config, await open(), events))
  const sized = (toVariant: (trail: Trail) => Variant): SizedVariant[] =>
    trails.map((trail) => ({ rows: trail.events, variant: toVariant(trail) }))
  const lists = sized(({ unaudited }) => listing('strongroom', unaudited, 1))
  const verifications = sized(({ audited }) => verifying(audited))
  const entries = [
    ...(await measureGrowth({ series: 'list the newest 25 events', storage, timing }, lists)),
    ...(await measureGrowth({ series: 'verify audit', storage, timing: slowTiming }, verifications)),
  ]
  for (const { close } of trails) await close()
  return entries
}
