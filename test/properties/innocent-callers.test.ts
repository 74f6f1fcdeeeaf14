/** The law of innocent callers, the mixes that broke it, and its negative control: a verb that fails beside others. */
import { describe, expect, it } from 'vitest'
import { checkMixes, innocentCallers } from '../laws/innocent-callers.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { seededRandom } from '../support/random/seeded-random.ts'
import { onEachStorage } from '../support/storages/engines.ts'
import { memoryPlaces, onFresh } from '../support/storages/places.ts'
import { EVERY_VERB } from '../support/vaults/every-verb.ts'

itHolds(innocentCallers)

/** What shares a commit with inserts whose ids others overtake. */
const OVERTAKEN = [
  ['insert', 'uploadFile', 'createApiKey'],
  ['insert', 'transaction', 'spendOnce'],
  ['insert', 'batch', 'uploadFile', 'revokeCredential'],
]

/** The engine that leaves out the first of them; the next leaves out the next: each is on two engines. */
const ENGINES = ['memory', 'sqlite', 'postgres'] as const

describe('inserts that others overtake', () => {
  onEachStorage('fail nothing that shares a commit with them', (engine) => {
    for (const names of OVERTAKEN.filter((_, position) => ENGINES[position % ENGINES.length] !== engine.name)) {
      it(names.join(' + '), async () => {
        await onFresh(engine, (place) => checkMixes(place, [names], seededRandom(names.join()), { turns: 60 }))
      })
    }
  })
})

it('a call that fails because of others is found', async () => {
  let open = 0
  const alone = async () => async () => {
    if (open > 0) throw new Error('not alone')
    open++
    await new Promise((resolve) => setImmediate(resolve))
    open--
  }
  const mixes = [['insert', 'alone', 'again']]
  const verbs = { ...EVERY_VERB, alone, again: alone }
  const check = onFresh(memoryPlaces(), (place) => checkMixes(place, mixes, seededRandom('control'), { verbs }))
  await expect(check).rejects.toThrow('not alone')
})
