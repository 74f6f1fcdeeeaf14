/** The law of records that are read and written back, and its negative controls: neither a transaction nor a version. */
import { expect, inject, it } from 'vitest'
import { changeOnPostgres, changeOnSqlite, readChange } from '../laws/read-change.ts'
import { itHolds } from '../support/laws/it-holds.ts'

itHolds(readChange)

it('changes that compare nothing are found out on both engines', async () => {
  for (const { failures } of [
    await changeOnSqlite('blind', { isBlind: true }),
    await changeOnPostgres(inject('postgresUrl'), 'blind', { isBlind: true }),
  ]) {
    expect(failures.join('\n')).toContain('A counter is')
    expect(failures.join('\n')).toContain('A set has')
  }
})
