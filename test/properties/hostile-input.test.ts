/** The law of hostile input, and its negative control: an error that quotes what was sent. */
import { expect, it } from 'vitest'
import { VaultError } from '../../src/index.ts'
import { hostileInput, sendHostile } from '../laws/hostile-input.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { seededRandom } from '../support/random/seeded-random.ts'

itHolds(hostileInput)

it('an error that quotes a value, and one of another type, are found out', async () => {
  const quoting = () => new VaultError('internal', 'QUETZAL COATL is not a number.')
  expect(await sendHostile(seededRandom('quoting'), 50, quoting)).toHaveLength(1)
  expect(await sendHostile(seededRandom('quoting'), 50, () => new TypeError('x is undefined'))).toHaveLength(1)
})
