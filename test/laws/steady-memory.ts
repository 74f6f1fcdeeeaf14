/** Law: mixed operations for a long time take no more and more memory. Its cases are one long run: a case alone shows nothing. */
import { openPlaces } from '../support/storages/places.ts'
import { figureOf } from '../support/trials/report.ts'
import { steadyMemoryTrial } from '../support/trials/steady-memory-trial.ts'
import { openTrialVault } from '../support/trials/trial-vault.ts'
import type { Law } from './law.ts'

/** Time between two samples of the heap, in milliseconds. */
const SAMPLE_MS = 1000

export const steadyMemory: Law = {
  name: 'steady-memory',
  statement: 'The heap holds as much after long mixed work as at its beginning',
  unit: 'seconds',
  figures: { test: 7, soak: 1200 },
  weight: 4,
  async open({ postgresUrl }) {
    const places = await openPlaces(postgresUrl)
    const vault = await openTrialVault(places.sqlite.fresh().open())
    const work = steadyMemoryTrial({ vault })
    return { check: async ({ random }) => figureOf(await work(random, SAMPLE_MS)), close: () => places.close() }
  },
}
