/** Queries by `=` on a sealed, searchable column, at every size, against reads through a plaintext index. */
import { at } from '../../src/core/util/lists.ts'
import type { CustomerIndex } from '../baselines/customers.ts'
import type { FilledCustomers } from '../fixtures/filled-customers.ts'
import { assertSame, randomPositions } from '../measuring/check-reads.ts'
import { measureSizes } from '../measuring/measure-sizes.ts'
import { sequentialCalls } from '../measuring/sequential-calls.ts'
import type { Entry } from '../report/result-shape.ts'
import type { RunConfig } from '../runner/run-config.ts'

/** Minimum rate at the largest size divided by the rate at the smallest. */
const GROWTH_TARGET = 0.7

/** Returns one entry per store, smallest first, and one for growth if there are several. Audit is off: the baseline records nothing. */
export async function measureEqual(
  config: RunConfig,
  target: number,
  stores: readonly FilledCustomers<CustomerIndex>[],
): Promise<Entry[]> {
  for (const store of stores) await assertSameRead(store)
  const pairs = stores.map(({ rows, vaults, baseline, emails }) => {
    const draw = () => randomPositions(config, emails.length, 1).map((positions) => at(emails, at(positions, 0)))
    return {
      rows,
      ours: sequentialCalls({
        name: 'strongroom',
        prepareItems: () => draw().map(selectByEmail),
        call: vaults.unaudited.query,
      }),
      baseline: sequentialCalls({ name: baseline.name, prepareItems: draw, call: baseline.find }),
    }
  })
  const { storage } = at(stores, 0)
  const subject = { benchmark: 'query by =, audit off', storage, target }
  const growth = { benchmark: 'growth of query by =', target: GROWTH_TARGET }
  return measureSizes({ subject, growth, timing: config.scale.callTiming }, pairs)
}

/** Returns the query of one customer. */
export function selectByEmail(email: string): string {
  return `SELECT name, city FROM customers WHERE email = '${email}'`
}

async function assertSameRead({ vaults, baseline, emails }: FilledCustomers<CustomerIndex>): Promise<void> {
  for (const email of [at(emails, 0), at(emails, emails.length - 1)]) {
    assertSame(await vaults.audited.query(selectByEmail(email)), [await baseline.find(email)])
  }
}
