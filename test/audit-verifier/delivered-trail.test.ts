/** The offline verifier of delivered lines: any mix of chains, lines delivered twice, and each way to tamper with them. */
import { describe, expect, it } from 'vitest'
import { verifyExport } from '../../src/audit-verifier/verify-export.ts'
import {
  exportLines,
  SIGNING,
  START,
  signCheckpoint,
  storedLine,
  treeHeadsOf,
  writeTrail,
} from '../support/audit/sample-trails.ts'
import { randomFor } from '../support/random/seeded-random.ts'

const TRAIL = writeTrail([6, 4, 5])
const LINES = TRAIL.rows.map(({ bytes }) => storedLine(bytes))
const KEPT = await signCheckpoint(treeHeadsOf(writeTrail([4, 4, 2])), START)
const OPTIONS = { delivered: true, checkpoints: [KEPT], keys: SIGNING.keys }

/** The lines of all chains in a random mix, each chain in its order. */
function mixed(below: (count: number) => number): string[] {
  const chains = [LINES.slice(0, 6), LINES.slice(6, 10), LINES.slice(10)]
  const lines: string[] = []
  while (chains.some((chain) => chain.length > 0)) lines.push(...(chains[below(3)]?.splice(0, 1 + below(2)) ?? []))
  return lines
}

/** Delivers again from some earlier line on, a few times, as after a crash. */
function withRepeats(lines: readonly string[], below: (count: number) => number): string[] {
  const delivered: string[] = []
  for (const [index, line] of lines.entries()) {
    delivered.push(line)
    if (below(4) === 0) delivered.push(...lines.slice(below(index + 1), index + 1))
  }
  return delivered
}

describe('verifyExport of delivered lines', () => {
  it('returns ok for any mix of chains, with repeats, and compares checkpoints', async () => {
    for (let round = 0; round < 200; round++) {
      const { below } = randomFor(`mix/${round}`)
      const lines = withRepeats(mixed(below), below)
      expect(await verifyExport(lines, OPTIONS)).toEqual({ ok: true, eventCount: 15, checkpoints: 1 })
    }
    expect(await verifyExport([...LINES, ''], { delivered: true })).toEqual({ ok: true, eventCount: 15, checkpoints: 0 })
    expect(await verifyExport([], { delivered: true })).toEqual({ ok: true, eventCount: 0, checkpoints: 0 })
  })

  it('accepts no export, and an export no delivered lines', async () => {
    expect((await verifyExport(exportLines(TRAIL), { delivered: true })).firstFailure?.reason).toBe('Line 1 is not an event.')
    expect((await verifyExport(LINES)).ok).toBe(false)
    await expect(verifyExport(LINES, { delivered: 1 } as never)).rejects.toThrow('delivered must be true or false')
  })

  it('finds a missing line, unless it is the last of its chain, which a checkpoint finds', async () => {
    for (const [index] of LINES.entries()) {
      const isLast = [5, 9, 14].includes(index)
      expect((await verifyExport(LINES.toSpliced(index, 1), { delivered: true })).ok).toBe(isLast)
    }
    const cut = await verifyExport(LINES.toSpliced(11, 4), OPTIONS)
    expect(cut.firstFailure?.reason).toBe('Event 2 of audit chain 3 is missing: a checkpoint has it.')
  })

  it('locates what is wrong', async () => {
    const edited = LINES.map((line) => line.replace('"0/3"', '"0/x"'))
    const first = async (lines: readonly string[]) => (await verifyExport(lines, { delivered: true })).firstFailure
    expect(await first(edited)).toMatchObject({ line: 4, chain: 1, sequence: 4, reason: expect.stringContaining('digest') })
    expect(await first(LINES.with(2, ''))).toMatchObject({ reason: 'Line 4 follows an empty line.' })
    expect(await first(LINES.with(1, LINES[2] ?? ''))).toMatchObject({
      line: 2,
      reason: 'Event 3 of audit chain 1 is delivered, and event 2 is missing.',
    })
    expect(await first(['{}'])).toEqual({ line: 1, reason: 'Line 1 is not an event.' })
  })

  it('finds a repeat that differs, and one that comes too late to be compared', async () => {
    const forged = writeTrail([1]).rows.map(({ bytes }) => storedLine(bytes).replace('"0/0"', '"0/x"'))
    expect((await verifyExport([...LINES, ...forged], { delivered: true })).firstFailure).toMatchObject({ line: 16 })
    const many = writeTrail([16_386]).rows.map(({ bytes }) => storedLine(bytes))
    const late = await verifyExport([...many, many[0] ?? ''], { delivered: true })
    expect(late.firstFailure?.reason).toBe('Event 1 of audit chain 1 is repeated too long after it was delivered.')
  })

  it('finds a change of any character', async () => {
    for (let round = 0; round < 300; round++) {
      const { below } = randomFor(`character/${round}`)
      const index = below(LINES.length)
      const line = LINES[index] ?? ''
      const where = below(line.length)
      const changed = `${line.slice(0, where)}${line[where] === 'a' ? 'b' : 'a'}${line.slice(where + 1)}`
      expect((await verifyExport(LINES.with(index, changed), { delivered: true })).ok).toBe(false)
    }
  })
})
