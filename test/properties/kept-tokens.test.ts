/** The law of kept tokens, and its negative controls. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { keptTokens, openScene, readsPlain, writeOnce } from '../laws/kept-tokens.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { randomFor } from '../support/random/seeded-random.ts'

itHolds(keptTokens)

const CONTROLS: Readonly<Record<string, typeof readsPlain>> = { 'every writer': () => true, 'no writer': () => false }

it.each(Object.keys(CONTROLS))('fails if tokens were expected to be kept for %s', async (name) => {
  const random = randomFor('kept tokens')
  const scene = await openScene(memoryStorage(), random, 4)
  const writes = async () => {
    for (let k = 0; k < 40; k++) await writeOnce(scene, random, CONTROLS[name])
  }
  await expect(writes()).rejects.toThrow(/to be (true|false)/)
})

it('has writers who read every cell in plain text, and writers who read some', () => {
  const north = { region: 'north' }
  expect(readsPlain('northern', 'name', north)).toBe(true)
  expect(readsPlain('northern', 'pin', north)).toBe(false)
  expect(readsPlain('northern', 'name', { region: 'south' })).toBe(false)
})
