/** Property: a condition is true, false or unknown for every record, so the three parts together equal the whole. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { seededRandom } from '../support/random/seeded-random.ts'
import type { OpenSubject } from '../support/sql/differential.ts'
import { openFixture } from '../support/sql/differential.ts'
import { FAULTS } from '../support/sql/faulty-subjects.ts'
import { listed } from '../support/sql/known-checks.ts'
import type { Outcome } from '../support/sql/partition.ts'
import { partition } from '../support/sql/partition.ts'
import { onEachStorage } from '../support/storages/engines.ts'

const isSoak = process.env.SOAK === '1'
const SEED = process.env.SEED ?? (isSoak ? String(Date.now()) : 'ternary partition')
const TIMEOUT_MS = isSoak ? 4 * 3_600_000 : 60_000
/** Schemas for each storage. */
const FIXTURES = { memory: 30, sqlite: 8, postgres: 8 }
const CONDITIONS = 15

onEachStorage('the parts of a query where a condition is true, false and unknown', ({ name, fresh }) => {
  it(
    'equal the whole',
    async () => {
      const begun = performance.now()
      const open: OpenSubject = (fixture) => openFixture(fixture, fresh().open())
      const fixtures = FIXTURES[name] * (isSoak ? 200 : 1)
      const outcome = await partition({
        random: seededRandom(SEED),
        open,
        fixtures,
        conditions: CONDITIONS,
        depth: 2,
        maxFaults: 5,
      })
      const seconds = ((performance.now() - begun) / 1000).toFixed(1)
      console.log(`${outcome.conditions} conditions on ${name}, seed ${SEED}, ${seconds} s`)
      expect(listed(outcome.faults)).toBe('none')
      expect(outcome.conditions).toBe(fixtures * CONDITIONS)
    },
    TIMEOUT_MS,
  )
})

describe('the check of partitions', () => {
  const inMemory: OpenSubject = (fixture) => openFixture(fixture, memoryStorage())
  const find = (open: OpenSubject): Promise<Outcome> =>
    partition({ random: seededRandom('faulty'), open, fixtures: 40, conditions: CONDITIONS, depth: 1, maxFaults: 10 })
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
