/** The offline verifier: its inputs, its results and the positions of failures. */
import { describe, expect, it } from 'vitest'
import { readCheckpoint } from '../../src/audit-verifier/checkpoints.ts'
import { verifyExport } from '../../src/audit-verifier/verify-export.ts'
import { checkpointLine, headerLine } from '../../src/core/audit/export-lines.ts'
import { decodeEvent } from '../../src/core/audit/read-event.ts'
import { encodeEvent } from '../../src/core/audit/write-event.ts'
import { jsonCanonical } from '../../src/core/values/json-types.ts'
import {
  createSigning,
  exportLines,
  SIGNING,
  START,
  signCheckpoint,
  treeHeadsOf,
  writeTrail,
} from '../support/audit/sample-trails.ts'

const TRAIL = writeTrail([3, 2])
const KEPT = await signCheckpoint(treeHeadsOf(TRAIL), START)
const LINES = exportLines(TRAIL)

async function* streamed(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines
}

describe('verifyExport returns ok', () => {
  it('for lists and streams, with or without an empty line at the end', async () => {
    const verdict = { ok: true, eventCount: 5, checkpoints: 0 }
    expect(await verifyExport(LINES)).toEqual(verdict)
    expect(await verifyExport(streamed(LINES))).toEqual(verdict)
    expect(await verifyExport([...LINES, ''])).toEqual(verdict)
  })

  it('for an export without events', async () => {
    const empty = { rows: [], heads: [] }
    expect(await verifyExport(exportLines(empty))).toEqual({ ok: true, eventCount: 0, checkpoints: 0 })
  })

  it('for lines that have events as plain JSON', () => {
    const [event] = LINES.filter((line) => line.startsWith('{"digest"'))
    const stored = decodeEvent(TRAIL.rows[0]?.bytes ?? Buffer.of())
    expect(JSON.parse(event ?? '').event).toEqual(JSON.parse(Buffer.from(encodeEvent(stored)).toString('utf8')))
    for (const line of LINES) expect(jsonCanonical(JSON.parse(line))).toBe(line)
  })

  it('for checkpoints in the export and given ones', async () => {
    const early = await signCheckpoint(treeHeadsOf(writeTrail([1, 2])), START - 5n)
    const options = { checkpoints: [KEPT], keys: SIGNING.keys }
    expect(await verifyExport(exportLines(TRAIL, [early, KEPT]), options)).toEqual({ ok: true, eventCount: 5, checkpoints: 3 })
  })

  it('for a trail that continues after a checkpoint', async () => {
    expect(await verifyExport(exportLines(writeTrail([5, 2, 1])), { checkpoints: [KEPT] })).toMatchObject({
      ok: true,
      eventCount: 8,
    })
  })
})

describe('verifyExport reports', () => {
  it('line, position and event id of a failure', async () => {
    const broken = LINES.with(4, (LINES[4] ?? '').replace('"vaultID":"v1"', '"vaultID":"v2"'))
    expect(await verifyExport(broken)).toEqual({
      ok: false,
      eventCount: 2,
      checkpoints: 0,
      firstFailure: {
        line: 5,
        chain: 1,
        sequence: 2,
        changeID: 'change-4294967298',
        reason: 'Event 2 of audit chain 1 belongs to another vault.',
      },
    })
  })

  it.each<[string, readonly string[], number, string]>([
    ['an export without lines', [], 1, 'is missing: the export is truncated'],
    ['a missing header', LINES.slice(1), 1, 'is not the header'],
    ['a second header', [headerLine('v1'), ...LINES], 2, 'is a second header'],
    ['a missing end line', LINES.slice(0, -1), LINES.length, 'is missing: the export is truncated'],
    ['a line after the end line', [...LINES, LINES[3] ?? ''], LINES.length + 1, 'follows the end line'],
    ['an empty line', LINES.toSpliced(3, 0, ''), 4, 'is not a line of an export'],
    ['reformatted lines', LINES.map((line) => JSON.stringify(JSON.parse(line), null, 1)), 1, 'is not the header'],
    ['a repeated head', LINES.toSpliced(2, 0, LINES[1] ?? ''), 3, 'is a head out of order'],
    ['a repeated checkpoint', exportLines(TRAIL, [KEPT, KEPT]), 5, 'is a checkpoint out of order'],
    ['a checkpoint after events', LINES.toSpliced(5, 0, checkpointLine(KEPT)), 6, 'is a checkpoint out of order'],
    ['an invalid checkpoint', LINES.toSpliced(3, 0, '{"checkpoint":{}}'), 4, 'has an invalid checkpoint'],
    ['another digest', LINES.with(3, (LINES[3] ?? '').replace(/[0-9a-f]{64}/, '0'.repeat(64))), 4, 'has a digest that differs'],
    [
      'wrong line counts',
      LINES.with(-1, (LINES.at(-1) ?? '').replace('"events":5', '"events":6')),
      LINES.length,
      'has wrong line counts',
    ],
    ['a repeated member', LINES.with(3, (LINES[3] ?? '').replace('"event":{', '"event":{"code":401,')), 4, 'cannot be read'],
  ])('%s', async (_how, lines, line, what) => {
    const { ok, firstFailure } = await verifyExport(lines)
    expect(ok).toBe(false)
    expect(firstFailure?.reason).toContain(what)
    expect(firstFailure?.line).toBe(line)
  })

  it('the first failure and reads no further', async () => {
    let read = 0
    async function* counted(): AsyncGenerator<string> {
      for (const line of LINES.with(3, 'x')) {
        read++
        yield line
      }
    }
    expect((await verifyExport(counted())).ok).toBe(false)
    expect(read).toBe(4)
  })

  it('a difference from a checkpoint without a line', async () => {
    const { firstFailure } = await verifyExport(exportLines(writeTrail([2, 2])), { checkpoints: [KEPT] })
    expect(firstFailure).toEqual({ chain: 1, sequence: 3, reason: 'Event 3 of audit chain 1 is missing: a checkpoint has it.' })
  })
})

describe('a checkpoint', () => {
  it('is valid only if one of the keys signed it', async () => {
    const otherSigning = createSigning(SIGNING.signer.keyId)
    const renamed = SIGNING.keys.map((key) => ({ ...key, keyId: 'other' }))
    for (const keys of [otherSigning.keys, renamed, []]) {
      const { ok, firstFailure } = await verifyExport(LINES, { checkpoints: [KEPT], keys })
      expect(ok).toBe(false)
      expect(firstFailure?.reason).toContain('is not signed by one of the keys')
    }
    expect((await verifyExport(LINES, { checkpoints: [KEPT], keys: [...otherSigning.keys, ...SIGNING.keys] })).ok).toBe(true)
  })

  it('signed with ML-DSA-65 is valid with that key alone, under that algorithm alone', async () => {
    const signing = createSigning(SIGNING.signer.keyId, 'ml-dsa-65')
    const { keys } = signing
    const kept = await signCheckpoint(treeHeadsOf(TRAIL), START, signing)
    expect(readCheckpoint(JSON.stringify(kept))).toEqual(kept)
    const lines = exportLines(TRAIL, [await signCheckpoint(treeHeadsOf(TRAIL), START - 5n), kept])
    expect(await verifyExport(lines, { checkpoints: [kept], keys: [...keys, ...SIGNING.keys] })).toMatchObject({
      ok: true,
      checkpoints: 3,
    })
    const refused = [
      [kept, SIGNING.keys],
      [{ ...kept, algorithm: 'Ed25519' }, keys],
      [{ ...KEPT, algorithm: 'ML-DSA-65' }, SIGNING.keys],
      [{ ...kept, signature: KEPT.signature }, keys],
      [{ ...kept, signature: kept.signature.replace(/^..../, 'AAAA') }, keys],
    ] as const
    for (const [checkpoint, known] of refused) {
      const { firstFailure } = await verifyExport(LINES, { checkpoints: [checkpoint], keys: known })
      expect(firstFailure?.reason).toContain('is not signed by one of the keys')
    }
  })

  it('of another vault is rejected', async () => {
    const foreign = { ...KEPT, checkpoint: { ...KEPT.checkpoint, vaultID: 'v2' } }
    expect((await verifyExport(LINES, { checkpoints: [foreign] })).firstFailure?.reason).toContain('belongs to another vault')
  })

  it('is parsed from its stored text', () => {
    expect(readCheckpoint(JSON.stringify(KEPT))).toEqual(KEPT)
    for (const text of ['', '{', '{}', 'null']) expect(() => readCheckpoint(text)).toThrow('Not an audit checkpoint.')
  })
})

it('rejects lines as one text, and invalid keys', async () => {
  await expect(verifyExport(LINES.join('\n'))).rejects.toThrow('expects the lines of an export')
  await expect(verifyExport(LINES, { keys: [{ keyId: 'k', publicKey: 'x' }] })).rejects.toThrow(
    'keys[0].publicKey must be an Ed25519 or ML-DSA-65',
  )
})
