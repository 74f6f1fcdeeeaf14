/** The law of kills, and its negative control. */
import { expect, it } from 'vitest'
import { killSqlite, kills } from '../laws/kills.ts'
import { itHolds } from '../support/laws/it-holds.ts'

itHolds(kills)

it('a vault that acknowledges before it commits is found out', async () => {
  const { failures } = await killSqlite('early', { acknowledgeEarly: true, maxFailures: 1 })
  expect(failures.join('\n')).toContain('acknowledged, but lost or changed')
})
