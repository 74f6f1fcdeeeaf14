/** Law: what was acknowledged is stored when the power is lost, on SQLite. Needs Linux and a C compiler. */
import { inFolder } from '../support/trials/folder.ts'
import { type PowerLossTrial, runPowerLossTrial } from '../support/trials/power-loss-trial.ts'
import { figureOf, type TrialReport } from '../support/trials/report.ts'
import type { Law } from './law.ts'

export const powerLoss: Law = {
  name: 'power-loss',
  statement: 'A loss of power loses nothing acknowledged on SQLite and leaves nothing stored in part',
  unit: 'images',
  figures: { test: 16, soak: 5000 },
  weight: 2,
  open: () => ({ check: async ({ seed }) => figureOf(await losePower(seed)) }),
}

/** One case: a recording, and images of what a disk could hold after it. */
export function losePower(seed: string, options: Pick<PowerLossTrial, 'synchronous' | 'maxFailures'> = { synchronous: 'full' }) {
  return inFolder<TrialReport>((directory) => runPowerLossTrial({ directory, seed, images: 16, requests: 400, ...options }))
}
