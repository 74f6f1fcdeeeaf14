/** Chain verification: intact chains pass, and for others the first failure is reported. */
import { describe, expect, it } from 'vitest'
import { systemHash } from '../../../src/adapters/system/system.ts'
import { toRowId } from '../../../src/core/audit/chain.ts'
import { ChainVerifier, treeHeadOf, type VerificationResult, type VerifierInput } from '../../../src/core/audit/chain-verifier.ts'
import { decodeEvent } from '../../../src/core/audit/read-event.ts'
import { toHex } from '../../../src/core/util/bytes.ts'
import { bytesOf, DRAFT, START, treeHeadsOf, type WrittenRow, writeChain, writeTrail } from '../../support/audit/sample-trails.ts'

const TRAIL = writeTrail([5, 3, 4])
const HEADS = treeHeadsOf(TRAIL)

type Stored = Omit<WrittenRow, 'bytes'> & { readonly bytes: Uint8Array | undefined }

function check(
  rows: readonly Stored[],
  options: Partial<VerifierInput> = {},
  after = options.heads ?? HEADS,
): VerificationResult {
  const chains = new ChainVerifier({ hash: systemHash, vaultID: 'v1', heads: HEADS, ...options })
  for (const { id, bytes, at } of rows) chains.add(id, bytes, at)
  return chains.end(after)
}

/** Returns the rows with the one at a position changed; undefined removes it. */
function changed(chain: number, sequence: number, change: (row: WrittenRow) => Stored | undefined): Stored[] {
  const id = toRowId({ chain, sequence })
  return TRAIL.rows.flatMap((row) => (row.id === id ? (change(row) ?? []) : row))
}

/** Returns a row with changed members of its event. Digests stay as they are. */
function edited(row: WrittenRow, edit: object): Stored {
  return { ...row, bytes: bytesOf({ ...decodeEvent(row.bytes), ...edit }) }
}

describe('the verification of an intact trail', () => {
  it('returns ok', () => {
    expect(check(TRAIL.rows)).toEqual({ ok: true, eventCount: 12 })
  })

  it('returns ok without events', () => {
    expect(check([], { heads: [] })).toEqual({ ok: true, eventCount: 0 })
  })

  it('returns ok if events were appended and chains started while it was read', () => {
    const more = writeChain(2, [DRAFT], { head: TRAIL.heads[1] ?? writeChain(2, [DRAFT]).head, now: START + 99n })
    const begun = writeChain(9, [DRAFT])
    const rows = [...TRAIL.rows, ...more.rows, ...begun.rows].sort((left, right) => left.id - right.id)
    const after = [
      ...HEADS.filter(({ chain }) => chain !== 2),
      treeHeadOf(systemHash, more.head),
      treeHeadOf(systemHash, begun.head),
    ]
    expect(check(rows, {}, after)).toEqual({ ok: true, eventCount: 14 })
    expect(check(rows)).toMatchObject({ ok: false, firstFailure: { chain: 2, sequence: 4 } })
  })

  it('returns the tree heads of watched positions', () => {
    const chains = new ChainVerifier({
      hash: systemHash,
      vaultID: 'v1',
      heads: HEADS,
      watchedPositions: new Map([[2, new Set([2])]]),
    })
    const digests = TRAIL.rows.map(({ id, bytes, at }) => chains.add(id, bytes, at))
    expect(chains.treeHeadAt(2, 2)).toMatchObject({ chain: 2, sequence: 2, digest: toHex(digests[6] ?? Uint8Array.of()) })
    expect(chains.treeHeadAt(2, 3)).toEqual(HEADS[1])
    expect(chains.treeHeadAt(2, 1)).toBeUndefined()
  })
})

describe('the verification fails', () => {
  const other = writeTrail([5, 3, 4, 1])
  const forged = writeChain(2, [DRAFT]).rows[0]?.bytes
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
      [...TRAIL.rows, { id: toRowId({ chain: 3, sequence: 5 }), at: START, bytes: forged }],
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
  ])('%s', (_where, rows, chain, sequence, what) => {
    const { ok, firstFailure } = check(rows)
    expect(ok).toBe(false)
    expect(firstFailure).toMatchObject({ chain, sequence })
    expect(firstFailure?.reason).toContain(what)
  })

  it('if a row has another time than its event, which would hide it from a time range', () => {
    const { firstFailure } = check(changed(1, 2, (row) => ({ ...row, at: row.at + 1n })))
    expect(firstFailure).toMatchObject({ chain: 1, sequence: 2 })
    expect(firstFailure?.reason).toContain("has a row timestamp that differs from the event's")
  })

  it('if a head was reset', () => {
    const heads = treeHeadsOf(writeTrail([4, 3, 4]))
    expect(check(TRAIL.rows, { heads }).firstFailure).toMatchObject({ chain: 1, sequence: 5 })
    const twice = heads.map((head) => (head.chain === 3 ? { ...head, sequence: 3 } : head))
    expect(check(TRAIL.rows, { heads: twice }).firstFailure).toMatchObject({ chain: 1, sequence: 5 })
  })

  it('if only the tree of a head was changed', () => {
    const heads = HEADS.map((head) => ({ ...head, root: head.chain === 3 ? '00'.repeat(32) : head.root }))
    expect(check(TRAIL.rows, { heads }).firstFailure).toMatchObject({ chain: 3, sequence: 4 })
  })

  it('and reports the id of the event', () => {
    const { firstFailure } = check(changed(1, 2, (row) => edited(row, { vaultID: 'v2' })))
    expect(firstFailure?.changeID).toBe(`change-${toRowId({ chain: 1, sequence: 2 })}`)
  })
})
