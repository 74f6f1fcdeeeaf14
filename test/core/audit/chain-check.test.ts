/** Chain verification: intact chains pass, and for others the first failure is reported. */
import { describe, expect, it } from 'vitest'
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

/** Returns the rows with the one at a position changed; undefined removes it. */
function changed(lane: number, sequence: number, change: (row: ChainedRow) => Stored | undefined): Stored[] {
  const id = rowOfPlace({ lane, sequence })
  return TRAIL.rows.flatMap((row) => (row.id === id ? (change(row) ?? []) : row))
}

/** Returns a row with changed members of its event. Digests stay as they are. */
function edited(row: ChainedRow, edit: object): Stored {
  return { ...row, bytes: encodeEvent({ ...decodeEvent(row.bytes), ...edit }) }
}

describe('the verification of an intact trail', () => {
  it('returns ok', () => {
    expect(check(TRAIL.rows)).toEqual({ ok: true, events: 12 })
  })

  it('returns ok without events', () => {
    expect(check([], { heads: [] })).toEqual({ ok: true, events: 0 })
  })

  it('returns ok if events were appended and chains started while it was read', () => {
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

  it('returns the tree heads of watched positions', () => {
    const chains = new ChainCheck({ hash: systemHash, vaultID: 'v1', heads: HEADS, watched: new Map([[2, new Set([2])]]) })
    const digests = TRAIL.rows.map(({ id, bytes, at }) => chains.add(id, bytes, at))
    expect(chains.markAt(2, 2)).toMatchObject({ lane: 2, sequence: 2, digest: digests[6] })
    expect(chains.markAt(2, 3)).toEqual(HEADS[1])
    expect(chains.markAt(2, 1)).toBeUndefined()
  })
})

describe('the verification fails', () => {
  const other = writeTrail([5, 3, 4, 1])
  const forged = chainLane(2, [DRAFT]).rows[0]?.bytes
  it.each<readonly [string, readonly Stored[], number, number, string]>([
    ['if an event was edited', changed(1, 2, (row) => edited(row, { code: 401 })), 1, 3, 'does not follow the event before it'],
    [
      'if the last event of a chain was edited',
      changed(2, 3, (row) => edited(row, { code: 401 })),
      2,
      3,
      'differs from the head of its chain',
    ],
    ['if an event was removed', changed(1, 2, () => undefined), 1, 2, 'is missing'],
    ['if the first event of a chain was removed', changed(3, 1, () => undefined), 3, 1, 'is missing'],
    ['if a chain was truncated', changed(2, 3, () => undefined), 2, 3, 'is missing'],
    ['if a whole chain was removed', TRAIL.rows.filter((_, index) => index < 5 || index > 7), 2, 1, 'is missing'],
    ['if all chains were removed', [], 1, 1, 'is missing'],
    ['if an event fails authentication', changed(3, 2, (row) => ({ ...row, bytes: undefined })), 3, 2, 'cannot be read'],
    [
      'if an event is not in canonical form',
      changed(3, 2, (row) => ({ ...row, bytes: Uint8Array.of(0x20, ...row.bytes) })),
      3,
      2,
      'cannot be read',
    ],
    [
      'if an event is in the row of another',
      changed(3, 2, (row) => ({ ...row, bytes: TRAIL.rows[0]?.bytes })),
      3,
      2,
      'was moved here',
    ],
    [
      'if an event belongs to another vault',
      changed(1, 2, (row) => edited(row, { vaultID: 'v2' })),
      1,
      2,
      'belongs to another vault',
    ],
    [
      'if an event is not later than the previous one',
      changed(1, 2, (row) => ({ ...edited(row, { timestamp: '2027-01-15T08:00:00.000000000Z' }), at: START })),
      1,
      2,
      'is not later',
    ],
    [
      'if an event was appended after the end',
      [...TRAIL.rows, { id: rowOfPlace({ lane: 3, sequence: 5 }), at: START, bytes: forged }],
      3,
      5,
      'was moved here',
    ],
    ['if a chain has no head', other.rows, 4, 1, 'lies after the head of its chain'],
    ['if a row is not an event', changed(2, 2, (row) => ({ ...row, id: 7 })), 2, 2, 'by a row that is not an event'],
    ['if an event exists twice', [...TRAIL.rows.slice(0, 2), ...TRAIL.rows.slice(1)], 1, 2, 'is out of order'],
    [
      'if chains are in another order',
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

  it('if a row has another time than its event, which would hide it from a time range', () => {
    const { firstBroken } = check(changed(1, 2, (row) => ({ ...row, at: row.at + 1n })))
    expect(firstBroken).toMatchObject({ lane: 1, sequence: 2 })
    expect(firstBroken?.what).toContain("has a row timestamp that differs from the event's")
  })

  it('if a head was reset', () => {
    const heads = marksOf(writeTrail([4, 3, 4]))
    expect(check(TRAIL.rows, { heads }).firstBroken).toMatchObject({ lane: 1, sequence: 5 })
    const twice = heads.map((head) => (head.lane === 3 ? { ...head, sequence: 3 } : head))
    expect(check(TRAIL.rows, { heads: twice }).firstBroken).toMatchObject({ lane: 1, sequence: 5 })
  })

  it('if only the tree of a head was changed', () => {
    const heads = HEADS.map((head) => ({ ...head, root: head.lane === 3 ? '00'.repeat(32) : head.root }))
    expect(check(TRAIL.rows, { heads }).firstBroken).toMatchObject({ lane: 3, sequence: 4 })
  })

  it('and reports the id of the event', () => {
    const { firstBroken } = check(changed(1, 2, (row) => edited(row, { vaultID: 'v2' })))
    expect(firstBroken?.changeID).toBe(`change-${rowOfPlace({ lane: 1, sequence: 2 })}`)
  })
})
