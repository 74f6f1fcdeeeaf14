/** The law of power loss, and its negative control: SQLite that does not wait for the disk. */
import { describe, expect, it } from 'vitest'
import { losePower, powerLoss } from '../laws/power-loss.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { canRecord } from '../support/trials/power-loss-trial.ts'

describe.skipIf(!canRecord())('with a C compiler', () => {
  itHolds(powerLoss)

  it('a storage with synchronous = normal is found out', async () => {
    const { failures } = await losePower('normal', { synchronous: 'normal', maxFailures: 1 })
    expect(failures.join('\n')).toContain('acknowledged, but lost or changed')
  })
})
