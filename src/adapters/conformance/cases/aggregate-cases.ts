/** Clause M: aggregates are exact, ignore nulls, and apply the filter. */

import type { Aggregate, Cell, Filter, NewRow } from '../../../core/ports/storage.ts'
import { assertEqual, assertRejects } from '../assert.ts'
import { above, EVERY, equal, isNull, numbers, THINGS } from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

interface Task {
  readonly rows: readonly NewRow[]
  readonly filter?: Filter
  readonly aggregates: readonly Aggregate[]
  readonly expected: readonly Cell[]
}

function aggregateCase(name: string, { rows, filter, aggregates, expected }: Task): StorageCase {
  return storageCase(name, [THINGS], async ({ storage }) => {
    await storage.insert('things', rows)
    assertEqual(await storage.aggregate('things', filter ?? EVERY, aggregates), expected)
    const inside = await storage.transaction((inner) => inner.aggregate('things', filter ?? EVERY, aggregates))
    assertEqual(inside, expected, 'the result inside a transaction')
  })
}

const integers = (...cells: readonly Cell[]): readonly NewRow[] => cells.map((n, at) => ({ id: at + 1, n }))
const texts = (...cells: readonly Cell[]): readonly NewRow[] => cells.map((t, at) => ({ id: at + 1, t }))
const ofN = (...kinds: readonly Aggregate['kind'][]): readonly Aggregate[] => kinds.map((kind) => ({ kind, column: 'n' }))

const MOST = 2n ** 63n - 1n

export const aggregateCases: readonly StorageCase[] = [
  aggregateCase('M1 count without a column counts rows, with one its cells that are not null', {
    rows: integers(1, null, 3, null),
    aggregates: [
      { kind: 'count' },
      { kind: 'count', column: 'n' },
      { kind: 'count', column: 't' },
      { kind: 'count', column: 'id' },
    ],
    expected: [4, 2, 0, 4],
  }),
  aggregateCase('M2 of no rows all but count are null', {
    rows: integers(1),
    filter: equal('n', 2),
    aggregates: [{ kind: 'count' }, ...ofN('count', 'sum', 'min', 'max')],
    expected: [0, 0, null, null, null],
  }),
  aggregateCase('M3 of nulls alone all but count are null', {
    rows: integers(null, null),
    aggregates: [{ kind: 'count' }, ...ofN('count', 'sum', 'min', 'max')],
    expected: [2, 0, null, null, null],
  }),
  aggregateCase('M4 nulls count for nothing in sums and extremes', {
    rows: integers(4, null, -2, 10, null),
    aggregates: ofN('sum', 'min', 'max', 'count'),
    expected: [12, -2, 10, 3],
  }),
  aggregateCase('M5 aggregates are returned in the requested order, with repeats', {
    rows: integers(1, 2, 3),
    aggregates: [...ofN('max', 'min', 'max'), { kind: 'count' }, { kind: 'max', column: 'id' }],
    expected: [3, 1, 3, 3, 3],
  }),
  aggregateCase('M6 only rows that match are aggregated', {
    rows: integers(1, 5, 9, null),
    filter: above('n', 1),
    aggregates: [{ kind: 'count' }, ...ofN('sum', 'min')],
    expected: [2, 14, 5],
  }),
  aggregateCase('M7 sums beyond 2^53 are exact bigints', {
    rows: integers(2 ** 53 - 1, 2 ** 53 - 1, 1),
    aggregates: ofN('sum'),
    expected: [2n ** 54n - 1n],
  }),
  aggregateCase('M8 sums beyond 64 bits are exact', {
    rows: integers(MOST, MOST, MOST),
    aggregates: ofN('sum'),
    expected: [3n * MOST],
  }),
  aggregateCase('M9 sums below the least of 64 bits are exact', {
    rows: integers(-MOST - 1n, -MOST - 1n, 1),
    aggregates: ofN('sum'),
    expected: [-2n * MOST - 1n],
  }),
  aggregateCase('M10 a sum that passes through large numbers to a small one is an exact number', {
    rows: integers(MOST, MOST, -MOST, 7, -MOST),
    aggregates: ofN('sum'),
    expected: [7],
  }),
  aggregateCase('M11 extremes of big integers are exact', {
    rows: integers(MOST, MOST - 1n, -MOST, -MOST - 1n, 3),
    aggregates: ofN('min', 'max'),
    expected: [-MOST - 1n, MOST],
  }),
  aggregateCase('M12 reals are counted and compared as numbers', {
    rows: [0.5, 10, -2.25, 9, null].map((r, at) => ({ id: at + 1, r })),
    aggregates: (['count', 'min', 'max'] as const).map((kind) => ({ kind, column: 'r' })),
    expected: [4, -2.25, 10],
  }),
  aggregateCase('M13 extremes of text go by code point', {
    rows: texts('b', '\uff5e', null, '\u{1f600}', 'B', 'a'),
    aggregates: [
      { kind: 'min', column: 't' },
      { kind: 'max', column: 't' },
    ],
    expected: ['B', '\u{1f600}'],
  }),
  aggregateCase('M14 extremes of text may hold NUL or be empty', {
    rows: texts('\u0001', '\u0000', 'zz\u0000', 'zz'),
    aggregates: [
      { kind: 'min', column: 't' },
      { kind: 'max', column: 't' },
    ],
    expected: ['\u0000', 'zz\u0000'],
  }),
  aggregateCase('M15 id and version can be aggregated', {
    rows: numbers(5, 3).map((id) => ({ id, version: id * 10 })),
    filter: isNull('n'),
    aggregates: [
      { kind: 'sum', column: 'id' },
      { kind: 'max', column: 'version' },
    ],
    expected: [18, 70],
  }),
  storageCase('M16 only integers have a sum: one of reals would depend on their order', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, n: 1, r: 0.5, t: 'a', b: new Uint8Array(1) }])
    for (const column of ['r', 't', 'b']) {
      await assertRejects(storage.aggregate('things', EVERY, [{ kind: 'sum', column }]), 'internal')
    }
    assertEqual(await storage.aggregate('things', EVERY, ofN('sum')), [1])
  }),
]
