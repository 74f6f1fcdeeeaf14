/** Law: for any list of operations, memory, SQLite with each driver, and PostgreSQL return equal results and store equal rows. */
import fc from 'fast-check'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { openPlaces, sqlitePlaces } from '../support/storages/places.ts'
import { operationLists, PLAYGROUND, replay } from '../support/storages/random-operations.ts'
import type { Law } from './law.ts'

/** Operations of one list, at most; half as many on average. Operations inside transactions come on top. */
const LENGTH = 40
/** Lists of one case. */
const LISTS = 10
/** Time to search for a shorter list that fails, in milliseconds. */
const SEARCH_MS = 40_000

export const storagesAgree: Law = {
  name: 'storages-agree',
  statement: 'Memory, SQLite with each driver and PostgreSQL return equal results for random lists of operations',
  unit: 'operations',
  figures: { test: 2000, soak: 1_000_000 },
  weight: 2,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    const nodeSqlite = sqlitePlaces('node:sqlite')
    const contestants = [places.memory, places.sqlite, places.postgres, { ...nodeSqlite, name: 'node:sqlite' }].map(
      ({ name, fresh }) => ({ name, storage: fresh().open() }),
    )
    for (const { storage } of contestants) await storage.prepare([PLAYGROUND])
    return {
      check: ({ random }) => assertAgree(contestants, LISTS, random.below(2 ** 31)),
      async close() {
        await nodeSqlite.close()
        await places.close()
      },
    }
  },
}

/** A storage and its name in a failure. */
export interface Contestant {
  readonly name: string
  readonly storage: StorageHandle
}

/** Replays random lists on all storages. Returns the number of operations. Rejects with the shortest list found whose results differ. */
export async function assertAgree(contestants: readonly Contestant[], lists: number, seed: number): Promise<number> {
  let operations = 0
  const property = fc.asyncProperty(operationLists(LENGTH), async (list) => {
    operations += list.length
    const [first, ...others] = await Promise.all(contestants.map(({ storage }) => replay(storage, list)))
    for (const [at, answers] of others.entries()) {
      const place = answers.findIndex((answer, position) => answer !== first?.[position])
      if (place === -1) continue
      const names = `${contestants[0]?.name} and ${contestants[at + 1]?.name}`
      throw new Error(`operation ${place}: ${names} disagree\n  ${first?.[place]}\n  ${answers[place]}`)
    }
  })
  // An interrupted search is still a failure.
  const limit = { interruptAfterTimeLimit: SEARCH_MS, markInterruptAsFailure: true }
  await fc.assert(property, { seed, numRuns: lists, includeErrorInReport: true, ...limit })
  return operations
}
