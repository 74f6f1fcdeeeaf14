/** Checking chains: what is whole passes, and of what is not, the first place is named. */
import { describe, expect, test } from 'vitest'
import { systemHash } from '../../../src/adapters/system/system-hash.ts'
import type { ChainedRow } from '../../../src/core/audit/chain.ts'
import type { ChainVerdict, CheckedTrail } from '../../../src/core/audit/chain-check.ts'
import { ChainCheck, markOfHead } from '../../../src/core/audit/chain-check.ts'
import { decodeEvent, encodeEvent } from '../../../src/core/audit/encode-event.ts'
import { rowOfPlace } from '../../../src/core/audit/place.ts'
import { chainLane, DRAFT, marksOf, START, writeTrail } from '../../support/audit/sample-trails.ts'

const TRAIL = writeTrail([5, 3, 4])
const HEADS = marksOf(TRAIL)

type Stored = Omit<ChainedRow, 'bytes'> & { readonly bytes: Uint8Array | undefined }

function check(rows: readonly Stored[], options: Partial<CheckedTrail> = {}, after = options.heads ?? HEADS): ChainVerdict {
  const chains = new ChainCheck({ hash: systemHash, vaultID: 'v1', heads: HEADS, ...options })
  for (const { id, bytes, at } of rows) chains.add(id, bytes, at)
  return chains.end(after)
}

/** The rows with the one at a lane and place changed; undefined takes it away. */
function changed(lane: number, sequence: number, change: (row: ChainedRow) => Stored | undefined): Stored[] {
  const id = rowOfPlace({ lane, sequence })
  return TRAIL.rows.flatMap((row) => (row.id === id ? (change(row) ?? []) : row))
}

/** The row's event with members changed, its own digest and all that follows left alone. */
function edited(row: ChainedRow, edit: object): Stored {
  return { ...row, bytes: encodeEvent({ ...decodeEvent(row.bytes), ...edit }) }
}

describe('a trail as it was written', () => {
  test('is whole', () => {
    expect(check(TRAIL.rows)).toEqual({ ok: true, events: 12 })
  })

  test('is whole when it has no events at all', () => {
    expect(check([], { heads: [] })).toEqual({ ok: true, events: 0 })
  })

  test('is whole when events were appended, and lanes begun, while it was read', () => {
    const more = chainLane(2, [DRAFT], { head: TRAIL.heads[1] ?? chainLane(2, [DRAFT]).head, now: START + 99n })
    const begun = chainLane(9, [DRAFT])
    const rows = [...TRAIL.rows, ...more.rows, ...begun.rows].sort((left, right) => left.id - right.id)
    const after = [
      ...HEADS.filter(({ lane }) => lane !== 2),
      markOfHead(systemHash, more.head),
      markOfHead(systemHash, begun.head),
    ]
    expect(check(rows, {}, after)).toEqual({ ok: true, events: 14 })
    expect(check(rows)).toMatchObject({ ok: false, firstBroken: { lane: 2, sequence: 4 } })
  })

  test('gives the marks that were asked for', () => {
    const chains = new ChainCheck({ hash: systemHash, vaultID: 'v1', heads: HEADS, watched: new Map([[2, new Set([2])]]) })
    const digests = TRAIL.rows.map(({ id, bytes, at }) => chains.add(id, bytes, at))
    expect(chains.markAt(2, 2)).toMatchObject({ lane: 2, sequence: 2, digest: digests[6] })
    expect(chains.markAt(2, 3)).toEqual(HEADS[1])
    expect(chains.markAt(2, 1)).toBeUndefined()
  })
})

describe('a trail is broken', () => {
  const other = writeTrail([5, 3, 4, 1])
  const forged = chainLane(2, [DRAFT]).rows[0]?.bytes
  test.each<readonly [string, readonly Stored[], number, number, string]>([
    [
      'where an event was edited',
      changed(1, 2, (row) => edited(row, { code: 401 })),
      1,
      3,
      'does not follow the event before it',
    ],
    [
      'where a lane’s last event was edited',
      changed(2, 3, (row) => edited(row, { code: 401 })),
      2,
      3,
      'is not what the head of its lane says',
    ],
    ['where one was taken out', changed(1, 2, () => undefined), 1, 2, 'is missing'],
    ['where a lane’s first was taken out', changed(3, 1, () => undefined), 3, 1, 'is missing'],
    ['where a lane’s end was cut', changed(2, 3, () => undefined), 2, 3, 'is missing'],
    ['where a whole lane was taken out', TRAIL.rows.filter((_, index) => index < 5 || index > 7), 2, 1, 'is missing'],
    ['where all lanes were taken out', [], 1, 1, 'is missing'],
    [
      'where one is sealed bytes that do not open',
      changed(3, 2, (row) => ({ ...row, bytes: undefined })),
      3,
      2,
      'cannot be read',
    ],
    [
      'where one is said in another way',
      changed(3, 2, (row) => ({ ...row, bytes: Uint8Array.of(0x20, ...row.bytes) })),
      3,
      2,
      'cannot be read',
    ],
    [
      'where one stands in another’s row',
      changed(3, 2, (row) => ({ ...row, bytes: TRAIL.rows[0]?.bytes })),
      3,
      2,
      'was moved here',
    ],
    ['where one is of another vault', changed(1, 2, (row) => edited(row, { vaultID: 'v2' })), 1, 2, 'belongs to another vault'],
    [
      'where one is no later than the one before',
      changed(1, 2, (row) => ({ ...edited(row, { timestamp: '2027-01-15T08:00:00.000000000Z' }), at: START })),
      1,
      2,
      'is no later',
    ],
    [
      'where one was put behind the end',
      [...TRAIL.rows, { id: rowOfPlace({ lane: 3, sequence: 5 }), at: START, bytes: forged }],
      3,
      5,
      'was moved here',
    ],
    ['where a lane was begun that has no head', other.rows, 4, 1, 'goes beyond the head of its lane'],
    ['where a row is none of an event', changed(2, 2, (row) => ({ ...row, id: 7 })), 2, 2, 'by a row no event can have'],
    ['where one comes twice', [...TRAIL.rows.slice(0, 2), ...TRAIL.rows.slice(1)], 1, 2, 'is out of order'],
    [
      'where lanes come in another order',
      [...TRAIL.rows.slice(5, 8), ...TRAIL.rows.slice(0, 5), ...TRAIL.rows.slice(8)],
      1,
      1,
      'is missing',
    ],
  ])('%s', (_where, rows, lane, sequence, what) => {
    const { ok, firstBroken } = check(rows)
    expect(ok).toBe(false)
    expect(firstBroken).toMatchObject({ lane, sequence })
    expect(firstBroken?.what).toContain(what)
  })

  test('where a row tells another time than its event, which would hide it from a window of time', () => {
    const { firstBroken } = check(changed(1, 2, (row) => ({ ...row, at: row.at + 1n })))
    expect(firstBroken).toMatchObject({ lane: 1, sequence: 2 })
    expect(firstBroken?.what).toContain('is kept under another time')
  })

  test('where a head was set back', () => {
    const heads = marksOf(writeTrail([4, 3, 4]))
    expect(check(TRAIL.rows, { heads }).firstBroken).toMatchObject({ lane: 1, sequence: 5 })
    const twice = heads.map((head) => (head.lane === 3 ? { ...head, sequence: 3 } : head))
    expect(check(TRAIL.rows, { heads: twice }).firstBroken).toMatchObject({ lane: 1, sequence: 5 })
  })

  test('where only the tree in a head was changed', () => {
    const heads = HEADS.map((head) => ({ ...head, root: head.lane === 3 ? '00'.repeat(32) : head.root }))
    expect(check(TRAIL.rows, { heads }).firstBroken).toMatchObject({ lane: 3, sequence: 4 })
  })

  test('and says which event was found there', () => {
    const { firstBroken } = check(changed(1, 2, (row) => edited(row, { vaultID: 'v2' })))
    expect(firstBroken?.changeID).toBe(`change-${rowOfPlace({ lane: 1, sequence: 2 })}`)
  })
})
