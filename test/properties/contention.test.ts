/** The law of contention, and its negative control: transfers outside of a transaction. */
import { expect, it } from 'vitest'
import { contendOnSqlite, contention } from '../laws/contention.ts'
import { itHolds } from '../support/laws/it-holds.ts'

itHolds(contention)

it('transfers outside of a transaction are found out', async () => {
  const { failures } = await contendOnSqlite('torn', { isTorn: true })
  expect(failures.join('\n')).toContain('The bank holds')
})
