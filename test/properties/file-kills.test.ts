/** The law of killed writers of files, and its negative control: writers that acknowledge before the vault does. */
import { expect, it } from 'vitest'
import { fileKills, killFileWriters } from '../laws/file-kills.ts'
import { itHolds } from '../support/laws/it-holds.ts'

itHolds(fileKills)

/** Trials at most. A kill finds a writer out only while it replaces a file, so a trial of a few kills can miss it. */
const TRIALS = 8

it('a file that was acknowledged and is not stored is found out', async () => {
  const found: string[] = []
  for (let trial = 0; trial < TRIALS && found.length === 0; trial++) {
    const { failures } = await killFileWriters({
      seed: `early ${trial}`,
      store: 'folder',
      acknowledgeEarly: true,
      maxFailures: 1,
    })
    found.push(...failures.filter((failure) => failure.includes('a record has')))
  }
  expect(found).not.toEqual([])
})
