/** The law that tampering with an export is found, and its controls. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { verifyExport } from '../../src/audit-verifier/verify-export.ts'
import { exportTampering, KEPT, LINES, missedBy } from '../laws/export-tampering.ts'
import { SIGNING } from '../support/audit/sample-trails.ts'
import { CAREFUL, CLUMSY } from '../support/audit/tamper-export.ts'
import { itHolds } from '../support/laws/it-holds.ts'
import { seededRandom } from '../support/random/seeded-random.ts'

describe('verification of a tampered export', () => {
  itHolds(exportTampering)

  it('finds careless tampering without a checkpoint', async () => {
    const accepts = async (lines: readonly string[]) => (await verifyExport(lines, { keys: SIGNING.keys })).ok
    expect(await missedBy(accepts, Object.entries(CLUMSY), { times: 500, random: seededRandom('tamper with exports') })).toEqual(
      new Map(),
    )
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
    const missed = await missedBy(accepts, Object.entries(CAREFUL), { times: 100, random: seededRandom('tamper with exports') })
    expect([...missed.keys()].sort()).toEqual(Object.keys(CAREFUL).sort())
  })

  it('a check of each event alone, without the event before, misses half of the careless ways', async () => {
    const missed = await missedBy(acceptsDigests, Object.entries(CLUMSY), {
      times: 1000,
      random: seededRandom('tamper with exports'),
    })
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
