/** Runs a law as a test of `npm test`, with its short figure. */
import { expect, inject, it } from 'vitest'
import type { Law } from '../../laws/law.ts'
import { reproduction, runLaw } from '../../laws/run-law.ts'

/** Time limit of the short figure, in milliseconds. */
const LIMIT_MS = 600_000

/** One test. SEED in the environment replaces its seed. The failure prints the command that runs the failed case again. */
export function itHolds(law: Law): void {
  it(
    `${law.statement} (${law.figures.test.toLocaleString('en')} ${law.unit})`,
    async () => {
      const seed = process.env.SEED ?? 'npm-test'
      const servers = { postgresUrl: inject('postgresUrl') }
      const { figure, failures } = await runLaw(law, { servers, seed, figure: law.figures.test, maxFailures: 1 })
      for (const { number, text } of failures) expect.fail(`${text}\n\nAgain: ${reproduction(law, seed, number)}`)
      expect(figure).toBeGreaterThanOrEqual(law.figures.test)
    },
    LIMIT_MS,
  )
}
