/** Benchmark: queries over sealed and plain columns, from an indexed `=` to scans of the whole table. */
import { at } from '../../src/core/util/lists.ts'
import { fillMemoryCustomers, fillPostgresCustomers, fillSqliteCustomers } from '../fixtures/filled-customers.ts'
import { measurePair } from '../measuring/harness.ts'
import { sequentialCalls } from '../measuring/sequential-calls.ts'
import type { Entry } from '../report/result-shape.ts'
import type { Benchmark, RunConfig } from '../runner/run-config.ts'
import { measureEqual } from './query-equal.ts'
import {
  measureDelay,
  measureJoins,
  measurePattern,
  measurePlainTotals,
  measureSealedSum,
  measureSealedTotals,
} from './query-scans.ts'

export const queryBenchmark: Benchmark = {
  names: ['query'],
  storages: { sqlite: measureOnSqlite, postgres: measureOnPostgres, memory: measureInMemory },
  quick: { sqlite: measureQuickOnSqlite, memory: measureInMemory },
}

const LIKE_TARGET = 0.12
/** Minimum ratios of queries by `=`. */
const EQUAL_TARGETS = { sqlite: 0.16, postgres: 0.2, memory: 0.07 } as const
/** Minimum ratios of totals of a plain column. */
const PLAIN_TARGETS = { sqlite: 0.4, postgres: 0.7 } as const

async function measureQuickOnSqlite(config: RunConfig): Promise<Entry[]> {
  const store = await fillSqliteCustomers(config, at(config.scale.sizes.sqlite, 0))
  const entries = [
    ...(await measureEqual(config, EQUAL_TARGETS.sqlite, [store])),
    await measurePattern(config, store, LIKE_TARGET),
    ...(await measurePlainTotals(config, store, PLAIN_TARGETS.sqlite)),
    await measureSealedSum(config, store),
  ]
  await store.close()
  return entries
}

async function measureOnSqlite(config: RunConfig): Promise<Entry[]> {
  const { stores, small, large } = await fillEach(config.scale.sizes.sqlite, (rows) => fillSqliteCustomers(config, rows))
  const entries = [
    ...(await measureEqual(config, EQUAL_TARGETS.sqlite, stores)),
    await measurePattern(config, large, LIKE_TARGET),
    await measureDelay(config, large),
    ...(await measurePlainTotals(config, large, PLAIN_TARGETS.sqlite)),
    await measureSealedTotals(config, small),
    await measureSealedSum(config, small),
    ...(await measureJoins(config, small)),
    await measurePlanning(config, small),
  ]
  for (const store of stores) await store.close()
  return entries
}

async function measureOnPostgres(config: RunConfig): Promise<Entry[]> {
  const { stores, small, large } = await fillEach(config.scale.sizes.postgres, (rows) => fillPostgresCustomers(config, rows))
  const entries = [
    ...(await measureEqual(config, EQUAL_TARGETS.postgres, stores)),
    await measurePattern(config, small),
    ...(await measurePlainTotals(config, large, PLAIN_TARGETS.postgres)),
    await measureSealedTotals(config, small),
  ]
  for (const store of stores) await store.close()
  return entries
}

async function measureInMemory(config: RunConfig): Promise<Entry[]> {
  const store = await fillMemoryCustomers(config, config.scale.rows)
  const entries = await measureEqual(config, EQUAL_TARGETS.memory, [store])
  await store.close()
  return entries
}

/** Fills one store per size. `sizes` has at least one item and starts with the smallest. */
async function fillEach<T>(sizes: readonly number[], fillOne: (rows: number) => Promise<T>) {
  const stores: T[] = []
  for (const rows of sizes) stores.push(await fillOne(rows))
  return { stores, small: at(stores, 0), large: at(stores, stores.length - 1) }
}

/** The planned query: a join with conditions of every kind. */
const PLANNED =
  "SELECT a.email, c.name FROM accounts a JOIN customers c ON a.email = c.email WHERE c.balance > 100 AND (c.name LIKE 'A%' OR c.city = 'Osaka') LIMIT 10"

/** Parsing, checking and planning without execution, against SQLite preparing the same text. */
function measurePlanning(
  { scale }: RunConfig,
  { vaults, baseline }: Awaited<ReturnType<typeof fillSqliteCustomers>>,
): Promise<Entry> {
  const planning = (name: string, plan: (sql: string) => unknown) =>
    sequentialCalls({ name, prepareItems: () => new Array<string>(scale.reads).fill(PLANNED), call: plan })
  const pair = {
    ours: planning('strongroom', vaults.audited.explain),
    baseline: planning('SQLite preparing it', baseline.prepare),
  }
  return measurePair({ benchmark: 'parse and plan a query', storage: 'none', rows: 0 }, pair, scale.callTiming)
}
