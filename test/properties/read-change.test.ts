/** The law of records that are read and written back, and its negative controls: neither a transaction nor a version. */
import { expect, inject, it } from 'vitest'
import { changeOnPostgres, changeOnSqlite, readChange } from '../laws/read-change.ts'
import { itHolds } from '../support/laws/it-holds.ts'

itHolds(readChange)

/** Trials at most on each engine: two changes must meet, which not each trial sees. */
const TRIALS = 5

it('changes that compare nothing are found out on both engines', async () => {
  const engines = [
    (seed: string) => changeOnSqlite(seed, { isBlind: true }),
    (seed: string) => changeOnPostgres(inject('postgresUrl'), seed, { isBlind: true }),
  ]
  for (const change of engines) {
    let found = ''
    for (let trial = 0; trial < TRIALS && found === ''; trial++) found = (await change(`blind ${trial}`)).failures.join('\n')
    expect(found).toContain('A counter is')
    expect(found).toContain('A set has')
  }
})
