/** The law of steady memory, and its negative control: a caller that keeps every answer. */
import { expect, it } from 'vitest'
import { memoryStorage } from '../../src/adapters/memory/memory-storage.ts'
import { steadyMemory } from '../laws/steady-memory.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { randomFor } from '../support/random/seeded-random.ts'
import { steadyMemoryTrial } from '../support/trials/steady-memory-trial.ts'
import { openTrialVault } from '../support/trials/trial-vault.ts'

itHolds(steadyMemory)

it('memory that is kept is found out', async () => {
  const kept: unknown[] = []
  let sample = 0
  // Once for each sample, so that neither a slow nor a fast machine changes how much is kept.
  const keep = (answers: unknown): void => {
    if (kept.length <= sample) kept.push([answers, new Uint8Array(8 * 2 ** 20)])
  }
  const work = steadyMemoryTrial({ vault: await openTrialVault(memoryStorage()), keep })
  const reports = []
  for (; sample < 10; sample++) reports.push(await work(randomFor(`kept ${sample}`), 100))
  expect(reports.flatMap(({ failures }) => failures).join('\n')).toContain('The heap grew')
})
