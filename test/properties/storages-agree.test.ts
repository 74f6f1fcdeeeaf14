/** The law that all storages agree, and its negative controls. */
import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { brokenStorage, type FaultName } from '../adapters/memory/broken-storages.ts'
import { assertAgree, type Contestant, storagesAgree } from '../laws/storages-agree.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { PLAYGROUND } from '../support/storages/random-operations.ts'

itHolds(storagesAgree)

async function compare(pair: readonly Contestant[], lists: number): Promise<number> {
  for (const { storage } of pair) await storage.prepare([PLAYGROUND])
  return assertAgree(pair, lists, 20_250_101)
}

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
    await compare(pair, 50)
  })

  for (const fault of CAUGHT) {
    it(`fails when ${fault}`, async () => {
      const pair = [
        { name: 'memory', storage: memoryStorage() },
        { name: 'broken', storage: brokenStorage(fault) },
      ]
      await expect(compare(pair, 300)).rejects.toThrow(/memory and broken disagree/)
    })
  }
})
