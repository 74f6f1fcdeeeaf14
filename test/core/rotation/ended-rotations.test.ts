/** A rotation that ends between any two statements, as a killed process does: the vault opens, nothing is lost, and the next call finishes. */
import { describe, expect, it } from 'vitest'
import type { StorageHandle } from '../../../src/core/ports/storage.ts'
import { isVaultError } from '../../../src/index.ts'
import { memoryEngine, postgresEngine, sqliteEngine } from '../../support/storages/engines.ts'
import { faultyStorage } from '../../support/storages/faulty-storage.ts'
import type { Place } from '../../support/storages/places.ts'
import { killEvery } from '../../support/trials/kill-every.ts'
import { fillRotating, LEASE_MS, leftBehind, missingIn, openRotating } from '../../support/vaults/rotating-vault.ts'

/** Ends a rotation before statement `last`, and lets another process go on. Returns whether it was reached, and what is wrong then. */
async function endAt(place: Place, last: number, weaken = (storage: StorageHandle) => storage) {
  const filled = await openRotating(place.open()).then((vault) => fillRotating(vault, 5))
  const faulty = faultyStorage(place.open())
  const dying = await openRotating(weaken(faulty.storage))
  // Its row of openings is written first: it is not a statement of the rotation.
  await dying.keys()
  let statements = 0
  faulty.fail(() => (++statements >= last ? new Error('killed') : undefined))
  const isReached = await dying.rotateKeys().then(
    () => false,
    (error: unknown) => !isVaultError(error, 'failed_precondition'),
  )
  const wrong: string[] = []
  try {
    const next = await openRotating(place.open(), { aheadMs: LEASE_MS })
    const { keys } = await next.keys()
    if (keys.filter(({ state }) => state === 'pending').length > 1) wrong.push('two pending keys')
    if (keys.filter(({ state }) => state === 'active').length !== 1) wrong.push('not one active key')
    wrong.push(...(await missingIn(next, filled)))
    const { complete } = await next.rotateKeys()
    if (!complete) wrong.push('the next call does not complete')
    wrong.push(...(await leftBehind(next)), ...(await missingIn(next, filled)))
    for (const { version, state } of (await next.keys()).keys) if (state === 'retired') await next.destroyKey(version)
    const fresh = await openRotating(place.open(), { aheadMs: LEASE_MS })
    wrong.push(...(await missingIn(fresh, filled)))
    await Promise.all([next.close(), fresh.close()])
  } catch (error) {
    wrong.push(String(error))
  }
  await place.remove()
  return { isReached, wrong: wrong.map((one) => `ended at statement ${last}: ${one}`) }
}

describe('a rotation that ends at any statement', () => {
  const engines = [memoryEngine(), sqliteEngine(), postgresEngine()].map((engine) => ({
    engine,
    every: killEvery(engine.name, { memory: 4, sqlite: 23, postgres: 47 }),
  }))

  it.each(engines)(
    'is finished by the next call on $engine.name, where one in $every is tried',
    { timeout: 300_000 },
    async ({ engine, every }) => {
      const wrong: string[] = []
      let last = 1
      for (let isReached = true; isReached; last += every) {
        const ended = await endAt(engine.fresh(), last)
        isReached = ended.isReached
        wrong.push(...ended.wrong)
      }
      expect(wrong).toEqual([])
      // A rotation of this vault has far more statements than steps.
      expect(last).toBeGreaterThan(60)
    },
  )

  it('would leave something wrong if a step were no transaction, which this test finds', async () => {
    const wrong: string[] = []
    const torn = (storage: StorageHandle): StorageHandle => ({ ...storage, transaction: (work) => work(storage) })
    for (let last = 1; last < 60; last += 4) wrong.push(...(await endAt(memoryEngine().fresh(), last, torn)).wrong)
    expect(wrong).not.toEqual([])
  })
})
