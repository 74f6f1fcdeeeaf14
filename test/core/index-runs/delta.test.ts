/** Deltas: they have what was noted, summed and sorted, and their length says nothing of values. */
import { expect, it } from 'vitest'
import { keyRingFactory } from '../../../src/adapters/keys/key-ring-factory.ts'
import { IndexChanges, readDelta, sealDelta } from '../../../src/core/index-runs/delta.ts'
import { NULL_KEY, orderKey } from '../../../src/core/index-runs/order-key.ts'
import type { Segment } from '../../../src/core/index-runs/segment.ts'
import { indexKeys } from '../../../src/core/index-runs/trigrams.ts'
import { openEntry } from '../../../src/core/sealing/envelope.ts'
import { columnTypes } from '../../../src/core/values/column-types.ts'
import { keyOfGroup } from '../../support/indexes/group-keys.ts'
import { randomFor } from '../../support/random/seeded-random.ts'

const keys = {
  ring: keyRingFactory.createRing('v1', [{ version: 1, key: new Uint8Array(32).fill(9) }]),
  vault: new Uint8Array(16).fill(1),
}
const TABLE = { objectId: 5 }
const text = (value: string): Uint8Array => orderKey(columnTypes.STRING, value)
const integer = (value: number | bigint): Uint8Array => orderKey(columnTypes.INTEGER, value)

function opened(changes: readonly IndexChanges[]): ReadonlyMap<number, Segment> {
  const { id, space, body } = sealDelta(keys, 7, TABLE, changes)
  expect(space).toBe(TABLE.objectId)
  const content = openEntry({ ...keys, kind: 'run', id }, body as Uint8Array) ?? new Uint8Array(0)
  return readDelta(content)
}

/** Entries as `key:row:weight`, in order. */
function listed(segment: Segment | undefined): string[] {
  if (segment === undefined) return []
  const { groups, firsts, rows, weights } = segment
  return Array.from({ length: groups }, (_, group) => group).flatMap((group) => {
    const key = Buffer.from(keyOfGroup(segment, group)).toString()
    return Array.from(
      rows.subarray(firsts[group], firsts[group + 1]),
      (row, i) => `${key}:${row}:${weights[(firsts[group] ?? 0) + i]}`,
    )
  })
}

it('has the changes of all writes of a commit by key and row, without what came and went again', () => {
  const [one, other] = [new IndexChanges(), new IndexChanges()]
  one.add(11, text('b'), 2 ** 48 - 1)
  one.add(11, text('a'), 9)
  one.remove(11, text('a'), 3)
  one.add(12, integer(-1), 9)
  other.add(11, text('ab'), 1)
  other.add(11, text('c'), 9)
  other.remove(11, text('c'), 9)
  other.add(11, text(''), 4)
  expect([one.length, other.length]).toEqual([4, 4])
  const found = opened([one, other])
  expect(listed(found.get(11))).toEqual([':4:1', 'a:3:-1', 'a:9:1', 'ab:1:1', `b:${2 ** 48 - 1}:1`])
  expect([...found.keys()]).toEqual([11, 12])
  expect(opened([])).toEqual(new Map())
})

it('of one row with two indexes has one length, whatever the values, and of more the steps of their keys', () => {
  const random = randomFor('delta lengths')
  const lengths = new Set<number>()
  const of = (rows: number, key: () => Uint8Array): number => {
    const changes = new IndexChanges()
    for (let row = 1; row <= rows; row++)
      for (const index of [11, 12]) {
        changes.remove(index, key(), row)
        changes.add(index, key(), row)
      }
    return (sealDelta(keys, 7, TABLE, [changes]).body as Uint8Array).length
  }
  const texts = ['', 'a', '😀'.repeat(40), 'x'.repeat(100_000)]
  const numbers = [0, 1, -1, 2 ** 53 - 1, 2n ** 63n - 1n, -(2n ** 63n)]
  for (let i = 0; i < 100; i++) {
    const make = [() => text(random.pick(texts)), () => integer(random.pick(numbers)), () => NULL_KEY]
    lengths.add(of(1, random.pick(make)))
  }
  expect([...lengths]).toEqual([512 + 43])
  // A thousand equal numbers are as long as a thousand different ones: nothing shows what repeats.
  expect(of(1000, () => integer(7))).toBe(of(1000, () => integer(random.pick(numbers))))
})

it('of one row with trigrams has one length too, and of long texts steps of 4 KiB', () => {
  const of = (before: string, after: string): number => {
    const changes = new IndexChanges()
    for (const [work, value] of [
      ['remove', before],
      ['add', after],
    ] as const) {
      changes[work](11, text(value), 7)
      changes[work](12, indexKeys('contains', columnTypes.STRING, value), 7, 'contains')
    }
    return (sealDelta(keys, 7, TABLE, [changes]).body as Uint8Array).length
  }
  const various = (length: number): string => Array.from({ length }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('')
  const lengths = ['', 'a', various(600), 'x'.repeat(100_000)].map((value) => of(value, various(600)))
  expect(new Set(lengths)).toEqual(new Set([4096 + 43]))
  expect(of(various(3000), '')).toBe(3 * 4096 + 43)
})

it('has trigrams of several rows by key and row, in whatever order rows come', () => {
  const entriesOf = (rows: readonly number[]): string[] => {
    const changes = new IndexChanges()
    for (const row of rows) changes.add(12, indexKeys('contains', columnTypes.STRING, 'Ottotto'), row, 'contains')
    changes.remove(12, indexKeys('contains', columnTypes.STRING, 'Otto'), rows[1] ?? 0, 'contains')
    return listed(opened([changes]).get(12))
  }
  expect(entriesOf([3, 5, 9])).toEqual(entriesOf([9, 5, 3]))
  expect(entriesOf([3, 5, 9])).toHaveLength(3 * 4 - 3)
})
