/** Law: whatever is done to an exported audit trail is found, and by whom nothing was done is not accused. */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { verifyExport } from '../../src/audit-verifier/verify-export.ts'
import { exportLines, marksOf, SIGNING, START, signCheckpoint, writeTrail } from '../support/audit/sample-trails.ts'
import type { Tampering } from '../support/audit/tamper-export.ts'
import { CAREFUL, CLUMSY, tamperedTrail } from '../support/audit/tamper-export.ts'
import { seededRandom } from '../support/random/seeded-random.ts'

const TAMPERINGS = process.env.SOAK === '1' ? 100_000 : 2000

const TRAIL = tamperedTrail()
/** Signed while the trail was being written, and taken along in the export. */
const EARLY = await signCheckpoint(marksOf(writeTrail([3, 1, 2])), START + 10n)
/** Signed at the end, and kept elsewhere. */
const KEPT = await signCheckpoint(marksOf(TRAIL), START + 20n)
const LINES = exportLines(TRAIL, [EARLY])
const WAYS = Object.entries({ ...CLUMSY, ...CAREFUL })

/** Tampers so many times, each way in turn; answers the ways whose work passed for untouched. */
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
    // Two equal choices may undo each other: then nothing was tampered with.
    if (lines.join('\n') === LINES.join('\n')) continue
    if (await accepts(lines)) missed.set(name, (missed.get(name) ?? 0) + 1)
  }
  return missed
}

describe('tampering with an export', () => {
  test(`is found: ${TAMPERINGS.toLocaleString('en')} times in ${WAYS.length} ways, with a checkpoint at hand`, {
    timeout: 3_600_000,
  }, async () => {
    const accepts = async (lines: readonly string[]) =>
      (await verifyExport(lines, { checkpoints: [KEPT], keys: SIGNING.keys })).ok
    expect(await missedBy(accepts, WAYS, TAMPERINGS)).toEqual(new Map())
  })

  test('clumsily is found without a checkpoint too', async () => {
    const accepts = async (lines: readonly string[]) => (await verifyExport(lines, { keys: SIGNING.keys })).ok
    expect(await missedBy(accepts, Object.entries(CLUMSY), 500)).toEqual(new Map())
  })
})

describe('the law can go red', () => {
  test('an untouched export is in order, with and without what was kept elsewhere', async () => {
    expect(await verifyExport(LINES)).toEqual({ ok: true, events: 12, checkpoints: 1 })
    expect(await verifyExport(LINES, { checkpoints: [KEPT], keys: SIGNING.keys })).toEqual({
      ok: true,
      events: 12,
      checkpoints: 2,
    })
  })

  test('without a checkpoint, every careful way passes', async () => {
    const accepts = async (lines: readonly string[]) => (await verifyExport(lines)).ok
    const missed = await missedBy(accepts, Object.entries(CAREFUL), 100)
    expect([...missed.keys()].sort()).toEqual(Object.keys(CAREFUL).sort())
  })

  test('a check of each event’s own digest alone, without the one before, misses half the clumsy ways', async () => {
    const missed = await missedBy(acceptsDigests, Object.entries(CLUMSY), 1000)
    expect([...missed.keys()]).toEqual(
      expect.arrayContaining(['removes a line', 'swaps two lines', 'edits an event and its digest']),
    )
  })
})

/** A check as it must not be: events by themselves. */
function acceptsDigests(lines: readonly string[]): boolean {
  return lines.every((line) => {
    const found = /^\{"digest":"([0-9a-f]{64})","event":(.*)\}$/.exec(line)
    return found === null || createHash('sha256').update(`\0${found[2]}`).digest('hex') === found[1]
  })
}
