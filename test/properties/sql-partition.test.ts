/** The law that the three parts of a condition equal the whole, and its negative controls. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { CONDITIONS, sqlPartition } from '../laws/sql-partition.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { seededRandom } from '../support/random/seeded-random.ts'
import { type OpenSubject, openFixture } from '../support/sql/differential.ts'
import { FAULTS } from '../support/sql/faulty-subjects.ts'
import { listed } from '../support/sql/known-checks.ts'
import { type Outcome, partition } from '../support/sql/partition.ts'

itHolds(sqlPartition)

describe('the check of partitions', () => {
  const inMemory: OpenSubject = (fixture) => openFixture(fixture, memoryStorage())
  const find = (open: OpenSubject): Promise<Outcome> =>
    partition({ random: seededRandom('faulty'), open, fixtures: 15, conditions: CONDITIONS, depth: 1, maxFaults: 10 })
  const caught = ['the last record is dropped', 'OFFSET is ignored', 'unknown is treated as true'] as const

  it('passes for a correct vault', async () => {
    const outcome = await find(inMemory)
    expect(listed(outcome.faults)).toBe('none')
  })

  for (const name of caught) {
    it(`fails when ${name}`, async () => {
      const outcome = await find(FAULTS[name]?.(inMemory) ?? inMemory)
      // Some faults make a query longer than the limit. Its rejection must not count as the detection.
      expect(outcome.faults.some((line) => !line.includes('is not answered'))).toBe(true)
    })
  }
})
