/** Property: for any list of operations, memory, SQLite and PostgreSQL return equal results and store equal rows. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import type { StorageHandle } from '../../src/core/ports/storage.ts'
import { brokenStorage, type FaultName } from '../adapters/memory/broken-storages.ts'
import { ENGINES } from '../support/storages/engines.ts'
import { operationLists, PLAYGROUND, replay } from '../support/storages/random-operations.ts'

/** Operations of one list, at most; half as many on average. Operations inside transactions come on top. */
const LENGTH = 40
const isSoak = process.env.SOAK === '1'
const LISTS = isSoak ? 55_000 : 120
const SEED = Number(process.env.SEED ?? (isSoak ? Date.now() % 2 ** 31 : 20_250_101))
const SOAK_HOURS = 4 * 3_600_000

interface Contestant {
  readonly name: string
  readonly storage: StorageHandle
}

/** Replays random lists on all storages. Rejects with the seed and the shortest list whose results differ. */
async function assertAgree(contestants: readonly Contestant[], lists: number): Promise<number> {
  let operations = 0
  for (const { storage } of contestants) await storage.prepare([PLAYGROUND])
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
  // The limit ends the search for a shorter list before the test times out. An interrupted search is still a failure.
  const limit = isSoak ? {} : { interruptAfterTimeLimit: 40_000, markInterruptAsFailure: true }
  await fc.assert(property, { seed: SEED, numRuns: lists, includeErrorInReport: true, ...limit })
  return operations
}

describe('memory, SQLite and PostgreSQL', () => {
  const engines = Object.values(ENGINES).map((setUp) => setUp())

  it(
    'return equal results for random lists of operations',
    async () => {
      const begun = performance.now()
      const contestants = engines.map(({ name, fresh }) => ({ name, storage: fresh().open() }))
      const operations = await assertAgree(contestants, LISTS)
      const seconds = ((performance.now() - begun) / 1000).toFixed(1)
      console.log(`storages agree on ${operations} operations in ${LISTS} lists, seed ${SEED}, ${seconds} s`)
    },
    isSoak ? SOAK_HOURS : 60_000,
  )
})

describe('the comparison of storages', () => {
  const CAUGHT: readonly FaultName[] = [
    'get loses the order asked',
    'an insert that fails keeps its first rows',
    'bytes come out as Buffer',
    'patches forget to compare the version',
    'NUL is dropped from text',
    'a transaction rolls nothing back',
    'big integers pass through floating point',
    'not forgets the unknown',
    'a descending page ignores its start',
    'sums are cut to 64 bits',
  ]

  it('passes for two storages in memory', async () => {
    const pair = ['one', 'two'].map((name) => ({ name, storage: memoryStorage() }))
    await assertAgree(pair, 50)
  })

  for (const fault of CAUGHT) {
    it(`fails when ${fault}`, async () => {
      const pair = [
        { name: 'memory', storage: memoryStorage() },
        { name: 'broken', storage: brokenStorage(fault) },
      ]
      await expect(assertAgree(pair, 300)).rejects.toThrow(/memory and broken disagree/)
    })
  }
})
