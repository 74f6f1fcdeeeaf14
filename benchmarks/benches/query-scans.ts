/** Queries that read a whole table: by a pattern and by totals, over sealed and plain columns, and how long they hold the event loop. */
import type { CustomerVault } from '../customer-vaults.ts'
import type { Entry } from '../entries.ts'
import type { Totals } from '../floors/customers.ts'
import { compare, compareSizes, longestGap, measure, median } from '../harness.ts'
import { MOST_SPENT } from '../people.ts'
import type { Scope } from '../scope.ts'
import type { FilledCustomers } from './filled-customers.ts'
import { assertSame } from './filled-readers.ts'

const PART = 'Ivanova'
const BY_PATTERN = `SELECT COUNT(*) FROM customers WHERE name LIKE '%${PART}%'`
const HALF = MOST_SPENT / 2

/** What one bench asks, of both sides. */
interface Question {
  readonly bench: string
  readonly target?: number
  readonly floor: string
  ours(vault: CustomerVault): Promise<unknown>
  theirs(floor: FilledCustomers['floor']): unknown
}

/** A pattern over a sealed column, against reading the plaintext column and matching there. */
export function measurePattern(scope: Scope, store: FilledCustomers, target?: number): Promise<Entry> {
  return ask(scope, store, {
    bench: 'count by LIKE, sealed',
    ...(target === undefined ? {} : { target }),
    floor: 'plaintext column read, then matched',
    ours: (vault) => countBy(vault, BY_PATTERN),
    theirs: (floor) => floor.countNames(PART),
  })
}

/** Totals the engine can answer, by itself and through us. */
export async function measurePlainTotals(scope: Scope, store: FilledCustomers): Promise<Entry[]> {
  const floor = 'the same SQL, prepared'
  const target = 0.8
  const totals: Question = {
    bench: 'SUM, AVG, COUNT, plain',
    target,
    floor,
    ours: (vault) => totalsBy(vault, 'balance'),
    theirs: async (table) => totalsAlike(await table.totals()),
  }
  const above: Question = {
    bench: 'count by >, plain',
    target,
    floor,
    ours: (vault) => countBy(vault, `SELECT COUNT(*) FROM customers WHERE balance > ${HALF}`),
    theirs: (table) => table.countAbove(HALF),
  }
  return [await ask(scope, store, totals), await ask(scope, store, above)]
}

/** The same totals of the sealed column, which no engine can answer. */
export function measureSealedTotals(scope: Scope, store: FilledCustomers): Promise<Entry> {
  return ask(scope, store, {
    bench: 'SUM, AVG, COUNT, sealed',
    floor: 'the same SQL of a plain column',
    ours: (vault) => totalsBy(vault, 'spent'),
    theirs: async (table) => totalsAlike(await table.totals()),
  })
}

/** Joins of accounts and customers, with the engine's own over plain columns beside them. */
export async function measureJoins(scope: Scope, store: FilledCustomers): Promise<Entry[]> {
  const joining = (column: 'email' | 'ssn', words: string): Question => ({
    bench: `join with a tenth, ${words}`,
    floor: column === 'email' ? 'the same SQL, plain and indexed' : 'the same SQL, plain',
    ours: (vault) => countBy(vault, `SELECT COUNT(*) FROM accounts a JOIN customers c ON a.${column} = c.${column}`),
    theirs: (table) => table.countJoined(column),
  })
  return [await ask(scope, store, joining('email', 'sealed and searchable')), await ask(scope, store, joining('ssn', 'sealed'))]
}

/** The longest others wait while a sealed column is read from end to end. */
export async function measureHold({ scale }: Scope, { storage, rows, vaults }: FilledCustomers): Promise<Entry> {
  const limit = 20
  const gaps: number[] = []
  for (let round = 0; round < scale.slowTiming.rounds; round++) {
    gaps.push(await longestGap(() => vaults.audited.query(BY_PATTERN)))
  }
  const figures = { ours: median(gaps), floor: `${limit} ms`, floorFigure: limit, unit: 'ms' } as const
  return compareSizes({ bench: 'longest hold of the event loop', storage, rows, target: 1 }, figures)
}

async function ask(scope: Scope, store: FilledCustomers, question: Question): Promise<Entry> {
  const { vaults, floor, rows, storage } = store
  assertSame(await question.ours(vaults.audited), await question.theirs(floor))
  const reading = (name: string, read: () => unknown) => ({
    name,
    async run() {
      await read()
      return rows
    },
  })
  const [ours, theirs] = await measure(
    [reading('strongroom', () => question.ours(vaults.audited)), reading(question.floor, () => question.theirs(floor))],
    scope.scale.slowTiming,
  )
  const { bench, target } = question
  return compare(target === undefined ? { bench, storage, rows } : { bench, storage, rows, target }, ours, theirs)
}

async function countBy(vault: CustomerVault, sql: string): Promise<number> {
  const [answer] = await vault.query(sql)
  return Number(answer?.['count(*)'])
}

async function totalsBy(vault: CustomerVault, column: 'balance' | 'spent'): Promise<Totals> {
  const [answer] = await vault.query(`SELECT SUM(${column}) AS sum, AVG(${column}) AS mean, COUNT(*) AS count FROM customers`)
  return totalsAlike({ sum: Number(answer?.sum), mean: Number(answer?.mean), count: Number(answer?.count) })
}

/** Totals without the last digits of the mean, in which engines differ. */
function totalsAlike({ sum, mean, count }: Totals): Totals {
  return { sum, mean: Number(mean.toFixed(6)), count }
}
