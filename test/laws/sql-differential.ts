/** Law: the vault returns the same rows as SQLite and PostgreSQL do for the same query on plain tables. */
import { freshDatabase } from '../support/postgres/fresh-database.ts'
import { compareEngines, openFixture } from '../support/sql/differential.ts'
import { listed } from '../support/sql/known-checks.ts'
import { postgresReferenceEngine } from '../support/sql/postgres-reference-engine.ts'
import { sqliteReferenceEngine } from '../support/sql/sqlite-reference-engine.ts'
import { engineInTurn, onFresh, openPlaces } from '../support/storages/places.ts'
import type { Law } from './law.ts'

/** Queries for each schema with its rows. */
export const QUERIES = 40

/** Of one schema in five, so that most of the time goes into queries: opening a vault takes as long as a hundred of them. */
const MORE_QUERIES = 400

/** Half of the vaults are in memory, where opening one takes no time. */
const TURNS = ['memory', 'sqlite', 'memory', 'postgres'] as const

export const sqlDifferential: Law = {
  name: 'sql-differential',
  statement: 'The vault, SQLite and PostgreSQL return equal rows for random queries, for any sealed columns and on any storage',
  unit: 'answers',
  figures: { test: 1600, soak: 1_000_000 },
  weight: 3,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    const database = await freshDatabase(postgresUrl)
    const referenceEngines = [sqliteReferenceEngine(), await postgresReferenceEngine(database.url)]
    return {
      check: ({ number, random }) =>
        onFresh(engineInTurn(places, number, TURNS), async (place) => {
          const { comparisons, faults } = await compareEngines({
            ...{ random, referenceEngines, comparisons: 1, queries: number % 5 === 4 ? MORE_QUERIES : QUERIES, maxFaults: 1 },
            open: (fixture) => openFixture(fixture, place.open()),
            maxFixtures: 1,
          })
          if (faults.length > 0) throw new Error(listed(faults))
          return comparisons
        }),
      async close() {
        for (const engine of referenceEngines) await engine.close()
        await database.drop()
        await places.close()
      },
    }
  },
}
