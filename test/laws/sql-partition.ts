/** Law: a condition is true, false or unknown for every record, so the three parts together equal the whole. */
import { openFixture } from '../support/sql/differential.ts'
import { listed } from '../support/sql/known-checks.ts'
import { partition } from '../support/sql/partition.ts'
import { engineInTurn, onFresh, openPlaces } from '../support/storages/places.ts'
import type { Law } from './law.ts'

/** Conditions for each schema with its rows. */
export const CONDITIONS = 15

const TURNS = ['memory', 'memory', 'sqlite', 'memory', 'memory', 'postgres'] as const

export const sqlPartition: Law = {
  name: 'sql-partition',
  statement: 'The records for which a condition is true, false and unknown are together all records',
  unit: 'conditions',
  figures: { test: 200, soak: 100_000 },
  weight: 1,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    return {
      check: ({ number, random }) =>
        onFresh(engineInTurn(places, number, TURNS), async (place) => {
          const { conditions, faults } = await partition({
            ...{ random, fixtures: 1, conditions: CONDITIONS, depth: 2, maxFaults: 1 },
            open: (fixture) => openFixture(fixture, place.open()),
          })
          if (faults.length > 0) throw new Error(listed(faults))
          return conditions
        }),
      close: () => places.close(),
    }
  },
}
