/** Queries that read a whole table: by pattern, totals and joins, over sealed and plain columns, and the event-loop delay they cause. */
import { at } from '../../src/core/util/lists.ts'
import type { Totals } from '../baselines/customers.ts'
import type { CustomerVault } from '../fixtures/customer-vaults.ts'
import type { FilledCustomers } from '../fixtures/filled-customers.ts'
import { MAX_SPENT } from '../fixtures/people.ts'
import { assertSame } from '../measuring/check-reads.ts'
import { limitHold } from '../measuring/compare.ts'
import { type Hold, longestHold, medianHold } from '../measuring/event-loop-watch.ts'
import { measurePair, type Variant } from '../measuring/harness.ts'
import type { Entry } from '../report/result-shape.ts'
import type { RunConfig } from '../runner/run-config.ts'

const PART = 'Ivanova'
/** The query that matches every name. */
export const BY_PATTERN = `SELECT COUNT(*) FROM customers WHERE name LIKE '%${PART}%'`
const HALF = MAX_SPENT / 2

/** The same scan on both sides. */
interface Scan {
  readonly benchmark: string
  readonly target?: number
  /** Name of the baseline. */
  readonly baseline: string
  queryVault(vault: CustomerVault): Promise<unknown>
  queryBaseline(baseline: FilledCustomers['baseline']): unknown
}

/** A pattern on a sealed column, against reading the plaintext column and matching it in JavaScript. */
export function measurePattern(config: RunConfig, store: FilledCustomers, target?: number): Promise<Entry> {
  return measureScan(config, store, {
    benchmark: 'count by LIKE, sealed',
    ...(target === undefined ? {} : { target }),
    baseline: 'plaintext column read, then matched',
    queryVault: (vault) => countBy(vault, BY_PATTERN),
    queryBaseline: (baseline) => baseline.countNames(PART),
  })
}

/** Totals that the database computes, through the vault and without it. */
export async function measurePlainTotals(config: RunConfig, store: FilledCustomers, target: number): Promise<Entry[]> {
  const baseline = 'the same SQL, prepared'
  const totals: Scan = {
    benchmark: 'SUM, AVG, COUNT, plain',
    target,
    baseline,
    queryVault: (vault) => totalsBy(vault, 'balance'),
    queryBaseline: async (table) => roundMean(await table.totals()),
  }
  const above: Scan = {
    benchmark: 'count by >, plain',
    target,
    baseline,
    queryVault: (vault) => countBy(vault, `SELECT COUNT(*) FROM customers WHERE balance > ${HALF}`),
    queryBaseline: (table) => table.countAbove(HALF),
  }
  return [await measureScan(config, store, totals), await measureScan(config, store, above)]
}

/** The same totals of the sealed column, which no database can compute. */
export function measureSealedTotals(config: RunConfig, store: FilledCustomers): Promise<Entry> {
  return measureScan(config, store, {
    benchmark: 'SUM, AVG, COUNT, sealed',
    baseline: 'the same SQL of a plain column',
    queryVault: (vault) => totalsBy(vault, 'spent'),
    queryBaseline: async (table) => roundMean(await table.totals()),
  })
}

/** Minimum rows per second of a sum, divided by those of matching text. */
const SUM_TARGET = 0.8

/** A sum of a sealed column against a pattern on another one, both by the vault: a number is cheaper to read than text is to match. */
export async function measureSealedSum({ scale }: RunConfig, { vaults, rows, storage }: FilledCustomers): Promise<Entry> {
  const pair = {
    ours: scanning('strongroom', rows, () => vaults.audited.query('SELECT SUM(spent) AS sum FROM customers')),
    baseline: scanning('count by LIKE, same vault', rows, () => vaults.audited.query(BY_PATTERN)),
  }
  return measurePair({ benchmark: 'SUM, sealed', storage, rows, target: SUM_TARGET }, pair, scale.slowTiming)
}

/** Joins of accounts and customers, against the database's own join of plain columns. */
export async function measureJoins(config: RunConfig, store: FilledCustomers): Promise<Entry[]> {
  const joinOn = (column: 'email' | 'ssn', kind: string): Scan => ({
    benchmark: `join with a tenth, ${kind}`,
    baseline: column === 'email' ? 'the same SQL, plain and indexed' : 'the same SQL, plain',
    queryVault: (vault) => countBy(vault, `SELECT COUNT(*) FROM accounts a JOIN customers c ON a.${column} = c.${column}`),
    queryBaseline: (table) => table.countJoined(column),
  })
  return [
    await measureScan(config, store, joinOn('email', 'sealed and searchable')),
    await measureScan(config, store, joinOn('ssn', 'sealed')),
  ]
}

/** The longest time that other work waits while a sealed column is scanned. */
export async function measureDelay({ scale }: RunConfig, { storage, rows, vaults }: FilledCustomers): Promise<Entry> {
  const holds: Hold[] = []
  for (let round = 0; round < scale.slowTiming.rounds; round++) {
    holds.push(await longestHold(() => vaults.audited.query(BY_PATTERN)))
  }
  return limitHold({ benchmark: 'maximum event-loop delay', storage, rows }, medianHold(holds))
}

async function measureScan({ scale }: RunConfig, store: FilledCustomers, scan: Scan): Promise<Entry> {
  const { vaults, baseline, rows, storage } = store
  assertSame(await scan.queryVault(vaults.audited), await scan.queryBaseline(baseline))
  const pair = {
    ours: scanning('strongroom', rows, () => scan.queryVault(vaults.audited)),
    baseline: scanning(scan.baseline, rows, () => scan.queryBaseline(baseline)),
  }
  const { benchmark, target } = scan
  const subject = { benchmark, storage, rows, ...(target === undefined ? {} : { target }) }
  return measurePair(subject, pair, scale.slowTiming)
}

/** Returns a variant that counts the rows of the table, whatever the query returns. */
export function scanning(name: string, rows: number, query: () => unknown): Variant {
  return {
    name,
    async run() {
      await query()
      return rows
    },
  }
}

async function countBy(vault: CustomerVault, sql: string): Promise<number> {
  return Number(at(await vault.query(sql), 0)['count(*)'])
}

async function totalsBy(vault: CustomerVault, column: 'balance' | 'spent'): Promise<Totals> {
  const sql = `SELECT SUM(${column}) AS sum, AVG(${column}) AS mean, COUNT(*) AS count FROM customers`
  const { sum, mean, count } = at(await vault.query(sql), 0)
  return roundMean({ sum: Number(sum), mean: Number(mean), count: Number(count) })
}

/** Rounds the mean to six decimals: databases differ in the last digits. */
function roundMean({ sum, mean, count }: Totals): Totals {
  return { sum, mean: Number(mean.toFixed(6)), count }
}
