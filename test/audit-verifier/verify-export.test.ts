/** The offline verifier: what it takes, what it answers, and where it says the break is. */
import { describe, expect, test } from 'vitest'
import { readCheckpoint } from '../../src/audit-verifier/read-checkpoint.ts'
import { verifyExport } from '../../src/audit-verifier/verify-export.ts'
import { decodeEvent } from '../../src/core/audit/encode-event.ts'
import { checkpointLine, headerLine } from '../../src/core/audit/export-lines.ts'
import { jsonCanonical } from '../../src/core/values/json-canonical.ts'
import {
  createSigning,
  exportLines,
  marksOf,
  SIGNING,
  START,
  signCheckpoint,
  writeTrail,
} from '../support/audit/sample-trails.ts'

const TRAIL = writeTrail([3, 2])
const KEPT = await signCheckpoint(marksOf(TRAIL), START)
const LINES = exportLines(TRAIL)

async function* streamed(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines
}

describe('an export as it was written', () => {
  test('is in order, given at once or as a stream, with an empty line at its end or without', async () => {
    const verdict = { ok: true, events: 5, checkpoints: 0 }
    expect(await verifyExport(LINES)).toEqual(verdict)
    expect(await verifyExport(streamed(LINES))).toEqual(verdict)
    expect(await verifyExport([...LINES, ''])).toEqual(verdict)
  })

  test('is in order without any event', async () => {
    const empty = { rows: [], heads: [] }
    expect(await verifyExport(exportLines(empty))).toEqual({ ok: true, events: 0, checkpoints: 0 })
  })

  test('holds every event as plain JSON', () => {
    const [event] = LINES.filter((line) => line.startsWith('{"digest"'))
    expect(JSON.parse(event ?? '').event).toEqual(JSON.parse(JSON.stringify(decodeEvent(TRAIL.rows[0]?.bytes ?? Buffer.of()))))
    for (const line of LINES) expect(jsonCanonical(JSON.parse(line))).toBe(line)
  })

  test('agrees with checkpoints inside it and beside it', async () => {
    const early = await signCheckpoint(marksOf(writeTrail([1, 2])), START - 5n)
    const options = { checkpoints: [KEPT], keys: SIGNING.keys }
    expect(await verifyExport(exportLines(TRAIL, [early, KEPT]), options)).toEqual({ ok: true, events: 5, checkpoints: 3 })
  })

  test('may have gone on behind a checkpoint', async () => {
    expect(await verifyExport(exportLines(writeTrail([5, 2, 1])), { checkpoints: [KEPT] })).toMatchObject({ ok: true, events: 8 })
  })
})

describe('a broken export', () => {
  test('is told by line, place and id of the event', async () => {
    const broken = LINES.with(4, (LINES[4] ?? '').replace('"vaultID":"v1"', '"vaultID":"v2"'))
    expect(await verifyExport(broken)).toEqual({
      ok: false,
      events: 2,
      checkpoints: 0,
      firstBroken: {
        line: 5,
        lane: 1,
        sequence: 2,
        changeID: 'change-4294967298',
        what: 'Event 2 of lane 1 belongs to another vault.',
      },
    })
  })

  test.each<[string, readonly string[], number, string]>([
    ['without a line', [], 1, 'is missing: the export was cut off'],
    ['without a header', LINES.slice(1), 1, 'is not the header'],
    ['with a second header', [headerLine('v1'), ...LINES], 2, 'is a second header'],
    ['without an end', LINES.slice(0, -1), LINES.length, 'is missing: the export was cut off'],
    ['that goes on', [...LINES, LINES[3] ?? ''], LINES.length + 1, 'stands behind the end'],
    ['with an empty line inside', LINES.toSpliced(3, 0, ''), 4, 'is no line of an export'],
    ['that was set out anew', LINES.map((line) => JSON.stringify(JSON.parse(line), null, 1)), 1, 'is not the header'],
    ['with a head twice', LINES.toSpliced(2, 0, LINES[1] ?? ''), 3, 'is a head out of order'],
    ['with a checkpoint twice', exportLines(TRAIL, [KEPT, KEPT]), 5, 'is a checkpoint out of order'],
    ['with a checkpoint behind events', LINES.toSpliced(5, 0, checkpointLine(KEPT)), 6, 'is a checkpoint out of order'],
    ['with something else for a checkpoint', LINES.toSpliced(3, 0, '{"checkpoint":{}}'), 4, 'holds no checkpoint'],
    [
      'with another digest',
      LINES.with(3, (LINES[3] ?? '').replace(/[0-9a-f]{64}/, '0'.repeat(64))),
      4,
      'has a digest that is not',
    ],
    [
      'that counts wrong',
      LINES.with(-1, (LINES.at(-1) ?? '').replace('"events":5', '"events":6')),
      LINES.length,
      'counts other lines',
    ],
    ['of one member twice', LINES.with(3, (LINES[3] ?? '').replace('"event":{', '"event":{"code":401,')), 4, 'cannot be read'],
  ])('%s', async (_how, lines, line, what) => {
    const { ok, firstBroken } = await verifyExport(lines)
    expect(ok).toBe(false)
    expect(firstBroken?.what).toContain(what)
    expect(firstBroken?.line).toBe(line)
  })

  test('is not read on', async () => {
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

  test('that departs from a checkpoint says so without a line', async () => {
    const { firstBroken } = await verifyExport(exportLines(writeTrail([2, 2])), { checkpoints: [KEPT] })
    expect(firstBroken).toEqual({ lane: 1, sequence: 3, what: 'Event 3 of lane 1 is missing: a checkpoint has seen it.' })
  })
})

describe('a checkpoint', () => {
  test('counts only when one of the keys signed it', async () => {
    const stranger = createSigning(SIGNING.signer.keyId)
    const renamed = SIGNING.keys.map((key) => ({ ...key, keyId: 'other' }))
    for (const keys of [stranger.keys, renamed, []]) {
      const { ok, firstBroken } = await verifyExport(LINES, { checkpoints: [KEPT], keys })
      expect(ok).toBe(false)
      expect(firstBroken?.what).toContain('is not signed by any of the keys')
    }
    expect((await verifyExport(LINES, { checkpoints: [KEPT], keys: [...stranger.keys, ...SIGNING.keys] })).ok).toBe(true)
  })

  test('of another vault is no witness', async () => {
    const foreign = { ...KEPT, checkpoint: { ...KEPT.checkpoint, vaultID: 'v2' } }
    expect((await verifyExport(LINES, { checkpoints: [foreign] })).firstBroken?.what).toContain('is of another vault')
  })

  test('is read from the text it was kept as', () => {
    expect(readCheckpoint(JSON.stringify(KEPT))).toEqual(KEPT)
    for (const text of ['', '{', '{}', 'null'])
      expect(() => readCheckpoint(text)).toThrow('This is no checkpoint of an audit trail.')
  })
})

test('lines given as one text, and keys that are none, are refused', async () => {
  await expect(verifyExport(LINES.join('\n'))).rejects.toThrow('takes the lines of an export')
  await expect(verifyExport(LINES, { keys: [{ keyId: 'k', publicKey: 'x' }] })).rejects.toThrow(
    'Key 0 to check with must be an Ed25519',
  )
})
