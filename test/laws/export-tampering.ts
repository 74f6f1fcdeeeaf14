/** Law: verification of an exported audit trail finds every kind of tampering. */
import { verifyExport } from '../../src/audit-verifier/verify-export.ts'
import { exportLines, SIGNING, START, signCheckpoint, treeHeadsOf, writeTrail } from '../support/audit/sample-trails.ts'
import { CAREFUL, CLUMSY, type Tampering, tamperedTrail } from '../support/audit/tamper-export.ts'
import type { SeededRandom } from '../support/random/seeded-random.ts'
import type { Law } from './law.ts'

/** Rounds through all ways, in a case. */
const ROUNDS = 10

const TRAIL = tamperedTrail()
/** Signed while the trail was written, and included in the export. */
const EARLY = await signCheckpoint(treeHeadsOf(writeTrail([3, 1, 2])), START + 10n)
/** Signed at the end, and stored outside the export. */
export const KEPT = await signCheckpoint(treeHeadsOf(TRAIL), START + 20n)
/** The lines of the unchanged export. */
export const LINES = exportLines(TRAIL, [EARLY])
const WAYS = Object.entries({ ...CLUMSY, ...CAREFUL })

/** Tampers so many times, each way in turn. Returns how often each way was not found. */
export async function missedBy(
  accepts: (lines: readonly string[]) => boolean | Promise<boolean>,
  ways: [string, Tampering][],
  { times, random }: { readonly times: number; readonly random: SeededRandom },
): Promise<Map<string, number>> {
  const missed = new Map<string, number>()
  for (let round = 0; round < times; round++) {
    const [name, tamper] = ways[round % ways.length] ?? ['nothing', () => LINES]
    const lines = tamper({ trail: TRAIL, lines: LINES, below: random.below })
    // Two equal choices may cancel each other out. Then nothing was changed.
    if (lines.join('\n') === LINES.join('\n')) continue
    if (await accepts(lines)) missed.set(name, (missed.get(name) ?? 0) + 1)
  }
  return missed
}

export const exportTampering: Law = {
  name: 'export-tampering',
  statement: 'Verification of an exported audit trail with a checkpoint finds every kind of tampering',
  unit: 'tamperings',
  figures: { test: 2000, soak: 100_000 },
  weight: 1,
  open: () => ({
    async check({ random }) {
      const accepts = async (lines: readonly string[]) =>
        (await verifyExport(lines, { checkpoints: [KEPT], keys: SIGNING.keys })).ok
      const times = WAYS.length * ROUNDS
      const missed = await missedBy(accepts, WAYS, { times, random })
      if (missed.size > 0) throw new Error(`not found: ${[...missed.keys()].join('; ')}`)
      return times
    },
  }),
}
