/** Property: the vault returns the same rows as SQLite and PostgreSQL do for the same query on plain tables. */
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { freshDatabase } from '../support/postgres/fresh-database.ts'
import { seededRandom } from '../support/random/seeded-random.ts'
import type { OpenSubject, Outcome, Subject } from '../support/sql/differential.ts'
import { compareEngines, openFixture } from '../support/sql/differential.ts'
import { FAULTS } from '../support/sql/faulty-subjects.ts'
import { listed } from '../support/sql/known-checks.ts'
import { postgresReferenceEngine } from '../support/sql/postgres-reference-engine.ts'
import type { ReferenceEngine } from '../support/sql/reference-engine.ts'
import { sqliteReferenceEngine } from '../support/sql/sqlite-reference-engine.ts'
import type { Engine } from '../support/storages/engines.ts'
import { memoryEngine, postgresEngine, sqliteEngine } from '../support/storages/engines.ts'

const isSoak = process.env.SOAK === '1'
const COMPARISONS = isSoak ? 1_000_000 : 5000
const SEED = process.env.SEED ?? (isSoak ? String(Date.now()) : 'sql differential')
const TIMEOUT_MS = isSoak ? 12 * 3_600_000 : 120_000
const QUERIES = 40

const inMemory: OpenSubject = (fixture) => openFixture(fixture, memoryStorage())

/** Opens subjects whose storage is removed when they are closed: a long run opens thousands. */
function openOn({ fresh }: Engine): OpenSubject {
  return async (fixture): Promise<Subject> => {
    const place = fresh()
    const subject = await openFixture(fixture, place.open())
    return {
      ...subject,
      async close() {
        await subject.close()
        await place.remove()
      },
    }
  }
}

describe('the vault, SQLite and PostgreSQL', () => {
  const referenceEngines: ReferenceEngine[] = [sqliteReferenceEngine()]
  // Half of all fixtures are in memory, where opening one takes no time.
  const storages = [memoryEngine(), memoryEngine(), sqliteEngine(), postgresEngine()].map(openOn)
  let release = async (): Promise<void> => {}
  let opened = 0

  beforeAll(async () => {
    const references = await freshDatabase(inject('postgresUrl'))
    referenceEngines.push(await postgresReferenceEngine(references.url))
    release = async () => {
      for (const engine of referenceEngines) await engine.close()
      await references.drop()
    }
  })

  afterAll(() => release())

  it(
    'return equal rows for random queries, for any sealed columns and on any storage',
    async () => {
      const begun = performance.now()
      const open: OpenSubject = (fixture) => (storages[++opened % storages.length] ?? inMemory)(fixture)
      const outcome = await compareEngines({
        ...{ random: seededRandom(SEED), open, referenceEngines, comparisons: COMPARISONS, queries: QUERIES, maxFaults: 5 },
      })
      const seconds = ((performance.now() - begun) / 1000).toFixed(1)
      const engines = Object.entries(outcome.byEngine).map(([name, count]) => `${name} ${count}`)
      console.log(
        `${outcome.comparisons} answers compared (${engines.join(', ')}), ${outcome.fixtures} schemas, seed ${SEED}, ${seconds} s`,
      )
      expect(listed(outcome.faults)).toBe('none')
      expect(outcome.comparisons).toBeGreaterThanOrEqual(COMPARISONS)
      expect(Object.keys(outcome.byEngine)).toHaveLength(referenceEngines.length)
    },
    TIMEOUT_MS,
  )
})

describe('the comparison of engines', () => {
  const find = (open: OpenSubject, comparisons: number): Promise<Outcome> =>
    compareEngines({
      ...{ random: seededRandom('faulty vaults'), open, referenceEngines: [sqliteReferenceEngine()] },
      ...{ comparisons, queries: QUERIES, maxFaults: 4 },
    })

  it('passes for a correct vault', async () => {
    const outcome = await find(inMemory, 1000)
    expect(listed(outcome.faults)).toBe('none')
  })

  for (const [name, fault] of Object.entries(FAULTS)) {
    it(`fails when ${name}`, async () => {
      const outcome = await find(fault(inMemory), 10_000)
      expect(outcome.faults.some((line) => !line.includes('is not answered'))).toBe(true)
    })
  }
})
