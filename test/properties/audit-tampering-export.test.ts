/** Property: verification of an exported audit trail finds every kind of tampering, and accepts an unchanged export. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { verifyExport } from '../../src/audit-verifier/verify-export.ts'
import { exportLines, SIGNING, START, signCheckpoint, treeHeadsOf, writeTrail } from '../support/audit/sample-trails.ts'
import type { Tampering } from '../support/audit/tamper-export.ts'
import { CAREFUL, CLUMSY, tamperedTrail } from '../support/audit/tamper-export.ts'
import { seededRandom } from '../support/random/seeded-random.ts'

const TAMPERINGS = process.env.SOAK === '1' ? 100_000 : 2000

const TRAIL = tamperedTrail()
/** Signed while the trail was written, and included in the export. */
const EARLY = await signCheckpoint(treeHeadsOf(writeTrail([3, 1, 2])), START + 10n)
/** Signed at the end, and stored outside the export. */
const KEPT = await signCheckpoint(treeHeadsOf(TRAIL), START + 20n)
const LINES = exportLines(TRAIL, [EARLY])
const WAYS = Object.entries({ ...CLUMSY, ...CAREFUL })

/** Tampers so many times, each way in turn. Returns how often each way was not found. */
async function missedBy(
  accepts: (lines: readonly string[]) => boolean | Promise<boolean>,
  ways: [string, Tampering][],
  times: number,
): Promise<Map<string, number>> {
  const random = seededRandom('tamper with exports')
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

describe('verification of a tampered export', () => {
  it(`finds ${TAMPERINGS.toLocaleString('en')} tamperings of ${WAYS.length} kinds with a checkpoint`, {
    timeout: 3_600_000,
  }, async () => {
    const accepts = async (lines: readonly string[]) =>
      (await verifyExport(lines, { checkpoints: [KEPT], keys: SIGNING.keys })).ok
    expect(await missedBy(accepts, WAYS, TAMPERINGS)).toEqual(new Map())
  })

  it('finds careless tampering without a checkpoint', async () => {
    const accepts = async (lines: readonly string[]) => (await verifyExport(lines, { keys: SIGNING.keys })).ok
    expect(await missedBy(accepts, Object.entries(CLUMSY), 500)).toEqual(new Map())
  })
})

describe('controls of the property', () => {
  it('an unchanged export verifies, with and without the checkpoint', async () => {
    expect(await verifyExport(LINES)).toEqual({ ok: true, eventCount: 12, checkpoints: 1 })
    expect(await verifyExport(LINES, { checkpoints: [KEPT], keys: SIGNING.keys })).toEqual({
      ok: true,
      eventCount: 12,
      checkpoints: 2,
    })
  })

  it('every careful way passes without a checkpoint', async () => {
    const accepts = async (lines: readonly string[]) => (await verifyExport(lines)).ok
    const missed = await missedBy(accepts, Object.entries(CAREFUL), 100)
    expect([...missed.keys()].sort()).toEqual(Object.keys(CAREFUL).sort())
  })

  it('a check of each event alone, without the event before, misses half of the careless ways', async () => {
    const missed = await missedBy(acceptsDigests, Object.entries(CLUMSY), 1000)
    expect([...missed.keys()]).toEqual(
      expect.arrayContaining(['removes a line', 'swaps two lines', 'edits an event and its digest']),
    )
  })
})

/** A wrong check: each event alone. */
function acceptsDigests(lines: readonly string[]): boolean {
  return lines.every((line) => {
    const found = /^\{"digest":"([0-9a-f]{64})","event":(.*)\}$/.exec(line)
    return found === null || createHash('sha256').update(`\0${found[2]}`).digest('hex') === found[1]
  })
}
