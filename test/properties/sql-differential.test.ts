/** The law that queries return what SQLite and PostgreSQL return, and its negative controls. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { QUERIES, sqlDifferential } from '../laws/sql-differential.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { seededRandom } from '../support/random/seeded-random.ts'
import { compareEngines, type OpenSubject, type Outcome, openFixture } from '../support/sql/differential.ts'
import { FAULTS } from '../support/sql/faulty-subjects.ts'
import { listed } from '../support/sql/known-checks.ts'
import { sqliteReferenceEngine } from '../support/sql/sqlite-reference-engine.ts'

itHolds(sqlDifferential)

const inMemory: OpenSubject = (fixture) => openFixture(fixture, memoryStorage())

describe('the comparison of engines', () => {
  const find = (open: OpenSubject, comparisons: number): Promise<Outcome> =>
    compareEngines({
      ...{ random: seededRandom('faults 3'), open, referenceEngines: [sqliteReferenceEngine()] },
      ...{ comparisons, queries: QUERIES, maxFaults: 1 },
    })

  it('passes for a correct vault', async () => {
    const outcome = await find(inMemory, 200)
    expect(listed(outcome.faults)).toBe('none')
  })

  for (const [name, fault] of Object.entries(FAULTS)) {
    it(`fails when ${name}`, async () => {
      const outcome = await find(fault(inMemory), 10_000)
      expect(outcome.faults.some((line) => !line.includes('is not answered'))).toBe(true)
    })
  }
})
