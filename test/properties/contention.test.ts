/** The law of contention, and its negative control: transfers outside of a transaction. */
import { expect, it } from 'vitest'
import { contendOnSqlite, contention } from '../laws/contention.ts'
import { itHolds } from '../support/laws/it-holds.ts'

itHolds(contention)

/** Trials at most: two transfers must meet, which not each trial sees. */
const TRIALS = 5

it('transfers outside of a transaction are found out', async () => {
  let found = ''
  for (let trial = 0; trial < TRIALS && !found.includes('The bank holds'); trial++)
    found = (await contendOnSqlite(`torn ${trial}`, { isTorn: true, processes: 2 })).failures.join('\n')
  expect(found).toContain('The bank holds')
})
