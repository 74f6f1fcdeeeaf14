/** Queries by `=` on a sealed, searchable column, at every size, against reads through a plaintext index. */
import type { Entry } from '../entries.ts'
import type { CustomerIndex } from '../floors/customers.ts'
import { compare, type Measured, measure, type Variant } from '../harness.ts'
import type { Scope } from '../scope.ts'
import type { FilledCustomers } from './filled-customers.ts'
import { assertSame, drawPositions } from './filled-readers.ts'

const TARGET = 0.25
/** The least the rate at the largest size may be of that at the smallest. */
const GROWTH_TARGET = 0.8

/** One entry for each store, smallest first, and where there are several one for growth. Nothing is recorded, as nothing is by the floor. */
export async function measureEqual(scope: Scope, stores: readonly FilledCustomers<CustomerIndex>[]): Promise<Entry[]> {
  for (const store of stores) await assertFindsTheSame(store)
  const variants = stores.flatMap((store) => [ourFinds(scope, store), floorFinds(scope, store)])
  const measured = await measure(variants, scope.scale.timing)
  const timed = stores.map(({ storage, rows }, index) => ({
    storage,
    rows,
    ours: measuredAt(measured, 2 * index),
    floor: measuredAt(measured, 2 * index + 1),
  }))
  const entries = timed.map(({ ours, floor, ...about }) =>
    compare({ ...about, bench: 'query by =, audit off', target: TARGET }, ours, floor),
  )
  const [small, large] = [timed[0], timed.at(-1)]
  if (small === undefined || large === undefined || small === large) return entries
  const itself = { name: `itself at ${small.rows.toLocaleString('en')} rows`, rates: small.ours.rates }
  const { storage, rows } = large
  return [...entries, compare({ bench: 'growth of query by =', storage, rows, target: GROWTH_TARGET }, large.ours, itself)]
}

function selectOf(email: string): string {
  return `SELECT name, city FROM customers WHERE email = '${email}'`
}

async function assertFindsTheSame({ vaults, floor, emails }: FilledCustomers<CustomerIndex>): Promise<void> {
  for (const email of [emails[0] ?? '', emails.at(-1) ?? '']) {
    assertSame(await vaults.audited.query(selectOf(email)), [await floor.find(email)])
  }
}

function drawEmails(scope: Scope, { emails }: FilledCustomers<CustomerIndex>): string[] {
  return drawPositions(scope, emails.length, 1).map(([position = 0]) => emails[position] ?? '')
}

function ourFinds(scope: Scope, store: FilledCustomers<CustomerIndex>): Variant {
  let queries: string[] = []
  return {
    name: 'strongroom',
    prepare() {
      queries = drawEmails(scope, store).map(selectOf)
    },
    async run() {
      for (const sql of queries) await store.vaults.unaudited.query(sql)
      return queries.length
    },
  }
}

function floorFinds(scope: Scope, store: FilledCustomers<CustomerIndex>): Variant {
  let emails: string[] = []
  return {
    name: store.floor.name,
    prepare() {
      emails = drawEmails(scope, store)
    },
    run: () => findAll(store.floor, emails),
  }
}

/** Address after address, waiting only where the answer comes later. */
async function findAll(floor: CustomerIndex, emails: readonly string[]): Promise<number> {
  for (const email of emails) {
    const answer = floor.find(email)
    if (answer instanceof Promise) await answer
  }
  return emails.length
}

function measuredAt(measured: readonly Measured[], index: number): Measured {
  const one = measured[index]
  if (one === undefined) throw new Error('a variant was not measured')
  return one
}
