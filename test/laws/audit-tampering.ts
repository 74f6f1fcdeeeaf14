/** Law: verifyAudit finds every kind of tampering with the stored audit trail. */
import { FOUND, FOUND_BY_CHECKPOINT, missedBy, openStoredTrail } from '../support/audit/stored-trail.ts'
import type { Law } from './law.ts'

/** Rounds through all ways, in a case. */
const ROUNDS = 4

export const auditTampering: Law = {
  name: 'audit-tampering',
  statement: 'Verification finds every edit, removal, insertion, swap, move and cut of the stored audit trail',
  unit: 'tamperings',
  figures: { test: 2000, soak: 100_000 },
  weight: 1,
  async open() {
    const stored = await openStoredTrail()
    return {
      async check({ number, random }) {
        // What equals an earlier state of the trail is found with a checkpoint alone.
        const withCheckpoint = number % 4 === 3
        const ways = withCheckpoint ? { ...FOUND, ...FOUND_BY_CHECKPOINT } : FOUND
        const times = Object.keys(ways).length * ROUNDS
        const missed = await missedBy(stored, ways, { times, random, checkpoints: withCheckpoint ? [stored.checkpoint] : [] })
        if (missed.size > 0) throw new Error(`not found: ${[...missed.keys()].join('; ')}`)
        return times
      },
      close: () => stored.vault.close(),
    }
  },
}
