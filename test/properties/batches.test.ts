/** The law of batches, and its negative controls. */
import { expect, it } from 'vitest'
import { batches, checkBatches, type RunBatch } from '../laws/batches.ts'
import { callerOf } from '../support/audit/audited-clients.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { randomFor } from '../support/random/seeded-random.ts'
import { memoryPlaces } from '../support/storages/places.ts'
import type { ModelItem } from '../support/vaults/batch-model.ts'

itHolds(batches)

/** Runs a batch that is changed before. */
function changed(change: (items: readonly ModelItem[], options: object) => readonly [readonly ModelItem[], object]): RunBatch {
  return (vault, items, options) => {
    const [list, given] = change(items, options)
    return vault.as(callerOf('clerk')).perform('batch', { items: list as never, options: given })
  }
}

const CONTROLS: Readonly<Record<string, RunBatch>> = {
  'items run in another order': changed((items, options) => [items.toReversed(), options]),
  'a failure does not end the batch': changed((items, options) => [items, { ...options, continueOnError: true }]),
  'the last item is left out': changed((items, options) => [items.length > 1 ? items.slice(0, -1) : items, options]),
  'one event more is recorded': async (vault, items, options) => {
    await vault
      .as(callerOf('clerk'))
      .updateOne('people', 'x', {})
      .catch(() => {})
    return vault.as(callerOf('clerk')).perform('batch', { items: items as never, options })
  },
}

async function checkSome(run?: RunBatch): Promise<void> {
  for (let number = 0; number < 5; number++) await checkBatches(memoryPlaces().fresh(), randomFor(`control ${number}`), run)
}

it('passes for the vault with the seeds of the controls', () => checkSome())

for (const [fault, run] of Object.entries(CONTROLS)) {
  it(`fails when ${fault}`, async () => {
    await expect(checkSome(run)).rejects.toThrow()
  })
}
