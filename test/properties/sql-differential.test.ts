/** Law: SQLite and PostgreSQL, asked the same of the same rows in plain tables, answer as the vault does. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { postgresStorage } from '../../src/adapters/postgres/postgres-storage.ts'
import { sqliteStorage } from '../../src/adapters/sqlite/sqlite-storage.ts'
import { freshDatabase } from '../support/postgres/fresh-database.ts'
import { seededRandom } from '../support/random/seeded-random.ts'
import type { OpenSubject, Outcome, Subject } from '../support/sql/differential.ts'
import { compareEngines, openWorld } from '../support/sql/differential.ts'
import { FAULTS } from '../support/sql/faulty-subjects.ts'
import { listed } from '../support/sql/known-checks.ts'
import { postgresShadower } from '../support/sql/postgres-reference-engine.ts'
import type { Shadower } from '../support/sql/reference-engine.ts'
import { sqliteShadower } from '../support/sql/sqlite-reference-engine.ts'

const isSoak = process.env.SOAK === '1'
const COMPARISONS = isSoak ? 1_000_000 : 5000
const SEED = process.env.SEED ?? (isSoak ? String(Date.now()) : 'sql differential')
const PATIENCE = isSoak ? 12 * 3_600_000 : 120_000
const QUERIES = 40

const inMemory: OpenSubject = (world) => openWorld(world, memoryStorage())

/** A subject whose storage goes when it is closed: a long run opens thousands. */
async function thenRemove(opening: Promise<Subject>, remove: () => Promise<unknown>): Promise<Subject> {
  const subject = await opening
  return {
    ...subject,
    async close() {
      await subject.close()
      await remove()
    },
  }
}

describe('the vault, SQLite and PostgreSQL', () => {
  const directory = mkdtempSync(join(tmpdir(), 'sql-differential-'))
  const shadowers: Shadower[] = [sqliteShadower()]
  // Half of all worlds stand in memory, where opening one takes no time.
  const storages: OpenSubject[] = [inMemory, inMemory]
  let release = async (): Promise<void> => {}
  let opened = 0

  beforeAll(async () => {
    const [shadows, vaults] = await Promise.all([freshDatabase(inject('postgresUrl')), freshDatabase(inject('postgresUrl'))])
    const pool = new pg.Pool({ connectionString: vaults.url, max: 4 })
    shadowers.push(await postgresShadower(shadows.url))
    storages.push(
      (world) => {
        const filename = join(directory, `${opened}.db`)
        const gone = async (): Promise<void> => {
          for (const file of [filename, `${filename}-wal`, `${filename}-shm`]) rmSync(file, { force: true })
        }
        return thenRemove(openWorld(world, sqliteStorage({ filename })), gone)
      },
      (world) => {
        const schema = `w${opened}`
        const gone = (): Promise<unknown> => pool.query(`drop schema ${schema} cascade`)
        return thenRemove(openWorld(world, postgresStorage({ pool, schema })), gone)
      },
    )
    release = async () => {
      for (const shadower of shadowers) await shadower.close()
      await pool.end()
      await Promise.all([shadows.drop(), vaults.drop()])
    }
  })

  afterAll(async () => {
    await release()
    rmSync(directory, { recursive: true, force: true })
  })

  it(
    'answer random queries alike, whatever is sealed and wherever it is stored',
    async () => {
      const begun = performance.now()
      const open: OpenSubject = (world) => (storages[++opened % storages.length] ?? inMemory)(world)
      const outcome = await compareEngines({
        ...{ random: seededRandom(SEED), open, shadowers, comparisons: COMPARISONS, queries: QUERIES, mostFaults: 5 },
      })
      const seconds = ((performance.now() - begun) / 1000).toFixed(1)
      const engines = Object.entries(outcome.byEngine).map(([name, count]) => `${name} ${count}`)
      console.log(
        `${outcome.comparisons} answers compared (${engines.join(', ')}), ${outcome.worlds} schemas, seed ${SEED}, ${seconds} s`,
      )
      expect(listed(outcome.faults)).toBe('none')
      expect(outcome.comparisons).toBeGreaterThanOrEqual(COMPARISONS)
      expect(Object.keys(outcome.byEngine)).toHaveLength(shadowers.length)
    },
    PATIENCE,
  )
})

describe('the law that engines answer alike', () => {
  const find = (open: OpenSubject, comparisons: number): Promise<Outcome> =>
    compareEngines({
      ...{ random: seededRandom('faulty'), open, shadowers: [sqliteShadower()] },
      ...{ comparisons, queries: QUERIES, mostFaults: 10 },
    })

  it('holds without a fault', async () => {
    const outcome = await find(inMemory, 1000)
    expect(listed(outcome.faults)).toBe('none')
  })

  for (const [name, fault] of Object.entries(FAULTS)) {
    it(`is broken when ${name}`, async () => {
      const outcome = await find(fault(inMemory), 10_000)
      expect(outcome.faults.some((line) => !line.includes('is not answered'))).toBe(true)
    })
  }
})
