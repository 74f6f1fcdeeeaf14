/** Benchmark: queries by sealed indexes against a plaintext table with native indexes, with a tier of runs and with one run; holds of merges, and bytes. */
import { postgresStorage } from '../../src/adapters/postgres/index.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/index.ts'
import { at } from '../../src/core/util/lists.ts'
import { bytesOnDisk } from '../baselines/open-sqlite.ts'
import { dropSchema } from '../baselines/postgres-plaintext.ts'
import {
  fillPostgresPair,
  fillSqlitePair,
  type IndexedPair,
  insertCustomers,
  openCustomers,
  type Queried,
  type Values,
} from '../fixtures/indexed-customers.ts'
import { type Customer, MAX_SPENT } from '../fixtures/people.ts'
import { assertSame } from '../measuring/check-reads.ts'
import { compareSizes, compareTimes, limitHold } from '../measuring/compare.ts'
import { longestHold } from '../measuring/event-loop-watch.ts'
import { measure, probed } from '../measuring/harness.ts'
import { sequentialCalls } from '../measuring/sequential-calls.ts'
import type { Entry } from '../report/result-shape.ts'
import { BATCH, type Benchmark, type RunConfig } from '../runner/run-config.ts'
import { bytesOfSchema } from './disk-benchmark.ts'

export const sealedIndexBenchmark: Benchmark = {
  names: ['sealed-index'],
  storages: {
    sqlite: (config) => measureOn(config, 'sqlite', fillSqlitePair),
    postgres: (config) => measureOn(config, 'postgres', fillPostgresPair),
  },
}

/** Times of the plaintext that a query takes at most, with one run and with a tier of them. */
const ANY_TARGETS = { run: 10, tier: 30 }
const TOTAL_TARGETS = { run: 5, tier: 30 }
/** Bytes of a vault with two indexes, of one without, at most. */
const BYTES_TARGET = 1.15
/** Calls of one timed run. */
const CALLS = 40
const FEW_CALLS = 4

interface Query {
  readonly benchmark: string
  readonly sql: string
  readonly targets?: typeof ANY_TARGETS
  readonly calls?: number
  /** Values for a call. */
  values(customer: Customer): Values
}

const TENTH = MAX_SPENT / 10
const THOUSANDTH = MAX_SPENT / 1000
/** A range of `width` from the sum of a customer. */
const within =
  (width: number) =>
  ({ spent }: Customer): Values => {
    const from = Math.min(spent, MAX_SPENT - width)
    return [from, from + width]
  }

const QUERIES: readonly Query[] = [
  {
    benchmark: 'by =',
    sql: 'SELECT email, city FROM customers WHERE email = $1',
    targets: ANY_TARGETS,
    values: ({ email }) => [email],
  },
  {
    benchmark: 'by prefix',
    sql: 'SELECT COUNT(*) AS count FROM customers WHERE email LIKE $1',
    values: ({ email }) => [`${email.slice(0, 6)}%`],
  },
  {
    benchmark: 'range of 0.1 %, 25 rows',
    sql: 'SELECT spent FROM customers WHERE spent >= $1 AND spent < $2 LIMIT 25',
    targets: ANY_TARGETS,
    values: within(THOUSANDTH),
  },
  {
    benchmark: 'first 25 in order',
    sql: 'SELECT spent FROM customers WHERE spent >= $1 ORDER BY spent LIMIT 25',
    targets: ANY_TARGETS,
    values: (customer) => within(TENTH)(customer).slice(0, 1),
  },
  { benchmark: 'MAX', sql: 'SELECT MAX(spent) AS max FROM customers', targets: TOTAL_TARGETS, values: () => [] },
  {
    benchmark: 'COUNT of 10 %',
    sql: 'SELECT COUNT(*) AS count FROM customers WHERE spent >= $1 AND spent < $2',
    targets: TOTAL_TARGETS,
    values: within(TENTH),
  },
  {
    benchmark: 'SUM of 10 %',
    sql: 'SELECT SUM(spent) AS sum FROM customers WHERE spent >= $1 AND spent < $2',
    values: within(TENTH),
  },
  {
    benchmark: 'contains',
    sql: 'SELECT COUNT(*) AS count FROM customers WHERE email LIKE $1',
    calls: FEW_CALLS,
    values: ({ email }) => [`%${email.slice(3, 9)}%`],
  },
]

async function measureOn(
  config: RunConfig,
  storage: 'sqlite' | 'postgres',
  fillPair: (config: RunConfig, rows: number) => Promise<IndexedPair>,
): Promise<Entry[]> {
  // The targets name the size, on both storages.
  const rows = Math.max(...config.scale.growth)
  const pair = await fillPair(config, rows)
  const entries: Entry[] = []
  for (const state of ['tier', 'run'] as const) {
    if (state === 'run') {
      const hold = await longestHold(() => pair.vault.vault.compact())
      entries.push(limitHold({ benchmark: 'hold of the event loop by a merge', storage, rows }, hold))
    }
    for (const query of QUERIES) entries.push(await measureQuery(config, { pair, rows, state }, query))
  }
  await pair.close()
  return [...entries, await measureBytes(config, storage)]
}

async function measureQuery(
  { scale, people }: RunConfig,
  { pair, rows, state }: { readonly pair: IndexedPair; readonly rows: number; readonly state: 'tier' | 'run' },
  { benchmark, sql, targets, calls = CALLS, values }: Query,
): Promise<Entry> {
  const { storage, vault, table, some } = pair
  const draw = (): Values => values(at(some, people.below(some.length)))
  for (let i = 0; i < 3; i++) {
    const drawn = draw()
    assertSame(comparable(await vault.query(sql, drawn), sql), comparable(await table.query(sql, drawn), sql))
  }
  const calling = ({ name, query }: Queried) =>
    sequentialCalls({ name, prepareItems: () => Array.from({ length: calls }, draw), call: (drawn) => query(sql, drawn) })
  const ours = calling(vault)
  const timing = calls === CALLS ? scale.callTiming : scale.slowTiming
  const measured = await measure([ours, calling(table)], timing)
  const subject = {
    benchmark: `${benchmark}, sealed index of ${state === 'run' ? 'one run' : 'many runs'}`,
    storage,
    rows,
    ...(targets && { target: targets[state] }),
    // The CPU of the server is not that of the process.
    ...(storage === 'sqlite' && { by: 'cpu' as const }),
  }
  return compareTimes(subject, await probed(ours, at(measured, 0)), at(measured, 1))
}

/** What must be equal: of rows in no order their number. PostgreSQL returns long integers as texts. */
function comparable(result: unknown, sql: string): unknown {
  const rows = result as readonly Readonly<Record<string, unknown>>[] // What every query returns.
  if (sql.includes('LIMIT') && !sql.includes('ORDER')) return rows.length
  return rows.map((row) => Object.values(row).map(String))
}

/** Bytes of a vault with two indexes, filled and merged as it goes on, beside one without. */
async function measureBytes(config: RunConfig, storage: 'sqlite' | 'postgres'): Promise<Entry> {
  const { environments, people } = config
  const { rows } = config.scale
  const bytes: number[] = []
  for (const isIndexed of [true, false]) {
    const place = storage === 'sqlite' ? sqlitePlace(environments.sqliteFile()) : postgresPlace(config)
    const vault = await openCustomers(place.storage, isIndexed)
    for (let done = 0; done < rows; done += BATCH) {
      await insertCustomers(vault, people.nextCustomers(Math.min(BATCH, rows - done)))
    }
    await vault.mergeDue()
    await vault.close()
    bytes.push((await place.bytes()) / rows)
  }
  const subject = { benchmark: 'bytes on disk, two sealed indexes', storage, rows, target: BYTES_TARGET }
  const sizes = { figure: at(bytes, 0), baseline: 'strongroom, none', baselineFigure: at(bytes, 1) }
  return compareSizes(subject, { ...sizes, unit: 'bytes/record' })
}

function sqlitePlace(filename: string) {
  return { storage: sqliteStorage({ filename }), bytes: async () => bytesOnDisk(filename) }
}

function postgresPlace({ environments }: RunConfig) {
  const [pool, schema] = [environments.postgresPool(), environments.postgresName()]
  const bytes = async (): Promise<number> => {
    const found = await bytesOfSchema(pool, schema)
    await dropSchema(pool, schema)
    return found
  }
  return { storage: postgresStorage({ pool, schema }), bytes }
}
