/** Bench: queries over sealed and plain columns, from an indexed `=` to scans of the whole table. */
import type { Entry } from '../entries.ts'
import { compare, measure } from '../harness.ts'
import type { Bench, Scope } from '../scope.ts'
import { fillMemoryCustomers, fillPostgresCustomers, fillSqliteCustomers } from './filled-customers.ts'
import { measureEqual } from './query-equal.ts'
import { measureHold, measureJoins, measurePattern, measurePlainTotals, measureSealedTotals } from './query-scans.ts'

export const queryBench: Bench = {
  names: ['query'],
  async run(scope) {
    const entries: Entry[] = []
    if (scope.has('sqlite')) entries.push(...(await onSqlite(scope)))
    if (scope.has('postgres')) entries.push(...(await onPostgres(scope)))
    if (scope.has('memory')) entries.push(...(await inMemory(scope)))
    return entries
  },
}

const LIKE_TARGET = 0.3

async function onSqlite(scope: Scope): Promise<Entry[]> {
  const [small, ...larger] = await fillEach(scope.scale.sizes.sqlite, (rows) => fillSqliteCustomers(scope, rows))
  if (small === undefined) return []
  const large = larger.at(-1) ?? small
  const entries = [
    ...(await measureEqual(scope, [small, ...larger])),
    await measurePattern(scope, large, LIKE_TARGET),
    await measureHold(scope, large),
    ...(await measurePlainTotals(scope, large)),
    await measureSealedTotals(scope, small),
    ...(await measureJoins(scope, small)),
    await measurePlanning(scope, small),
  ]
  for (const store of [small, ...larger]) await store.close()
  return entries
}

async function onPostgres(scope: Scope): Promise<Entry[]> {
  const [small, ...larger] = await fillEach(scope.scale.sizes.postgres, (rows) => fillPostgresCustomers(scope, rows))
  if (small === undefined) return []
  const entries = [
    ...(await measureEqual(scope, [small, ...larger])),
    await measurePattern(scope, small),
    ...(await measurePlainTotals(scope, larger.at(-1) ?? small)),
    await measureSealedTotals(scope, small),
  ]
  for (const store of [small, ...larger]) await store.close()
  return entries
}

async function inMemory(scope: Scope): Promise<Entry[]> {
  const store = await fillMemoryCustomers(scope, scope.scale.rows)
  const entries = await measureEqual(scope, [store])
  await store.close()
  return entries
}

async function fillEach<T>(sizes: readonly number[], fillOne: (rows: number) => Promise<T>): Promise<T[]> {
  const filled: T[] = []
  for (const rows of sizes) filled.push(await fillOne(rows))
  return filled
}

/** What is parsed and planned: a join with conditions of every sort. */
const PLANNED =
  "SELECT a.email, c.name FROM accounts a JOIN customers c ON a.email = c.email WHERE c.balance > 100 AND (c.name LIKE 'A%' OR c.city = 'Osaka') LIMIT 10"

/** Parsing, checking and planning alone, beside the engine doing its own. */
async function measurePlanning(
  { scale }: Scope,
  { vaults, floor }: Awaited<ReturnType<typeof fillSqliteCustomers>>,
): Promise<Entry> {
  const planning = (name: string, plan: (sql: string) => unknown) => ({
    name,
    run() {
      for (let done = 0; done < scale.reads; done++) plan(PLANNED)
      return scale.reads
    },
  })
  const [ours, theirs] = await measure(
    [planning('strongroom', vaults.audited.explain), planning('SQLite preparing it', floor.prepare)],
    scale.timing,
  )
  return compare({ bench: 'parse and plan a query', storage: 'none', rows: 0 }, ours, theirs)
}
