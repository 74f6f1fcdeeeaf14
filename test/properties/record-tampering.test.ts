/** The law of record tampering, and its negative controls: a tampering that changes nothing, and one that is said to stay hidden. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { recordTampering, tamperRecords } from '../laws/record-tampering.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { seededRandom } from '../support/random/seeded-random.ts'
import { flipped, overwrite, RECORDS, rowOf } from '../support/vaults/tampered-records.ts'

const random = seededRandom('record tampering')

itHolds(recordTampering)

it('a tampering that is not found is reported', async () => {
  const check = tamperRecords(memoryStorage(), random, { 'changes nothing': async () => 'found' })
  await expect(check).rejects.toThrow('changes nothing')
})

it('a tampering that is found against the list is reported', async () => {
  const check = tamperRecords(memoryStorage(), random, {
    'changes a body': async (storage) => {
      await overwrite(storage, RECORDS, 1, { body: flipped((await rowOf(storage, RECORDS, 1)).body, 300) })
      return 'not detectable'
    },
  })
  await expect(check).rejects.toThrow('changes a body')
})
