/** The law of writing back, and its negative control. */
import { expect, it } from 'vitest'
import { writeBackAll, writeBackLaw } from '../laws/write-back.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { randomFor } from '../support/random/seeded-random.ts'

const SEED = process.env.SEED ?? 'write back'
const VAULTS = 20

itHolds(writeBackLaw)

it('some fields are written and some refused, so that both are checked', async () => {
  const runs = await runAll((shown) => shown)
  expect(sum(runs.map(({ written }) => written))).toBeGreaterThan(VAULTS)
  expect(sum(runs.map(({ refused }) => refused))).toBeGreaterThan(VAULTS)
})

it('is compared exactly: another text in place of a lowered field changes values', async () => {
  const runs = await runAll((shown) => (typeof shown === 'string' ? `${shown}x` : shown))
  expect(runs.flatMap(({ changed }) => changed).length).toBeGreaterThan(VAULTS / 4)
})

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

async function runAll(writeBack: (shown: unknown) => unknown) {
  const runs = []
  for (let vault = 0; vault < VAULTS; vault++) runs.push(await writeBackAll(randomFor(`${SEED} ${vault}`), writeBack))
  return runs
}
