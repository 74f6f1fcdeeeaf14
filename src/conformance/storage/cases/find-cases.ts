/** What a filter finds. Clause O: order and pages; F: logic of three values; M: aggregates of what is found. */
import type { Aggregate, Cell, Filter, NewRow, Page, PhysicalTable } from '../../../core/ports/storage.ts'
import { assertEqual, assertRejects } from '../../assert.ts'
import {
  above,
  among,
  and,
  atLeast,
  atMost,
  below,
  EVERY,
  equal,
  idsFound,
  isNull,
  KEYED,
  not,
  numbers,
  or,
  rowsWithIds,
  THINGS,
  unequal,
} from '../sample.ts'
import { type StorageCase, type StorageFixture, storageCase } from '../storage-case.ts'

/** Ids whose order as text differs from their order as numbers, up to the highest there is. */
const SCRAMBLED = [100, 9, 2 ** 48 - 1, 10, 1, 2 ** 31, 2 ** 32 + 5, 99]

const SORTED = [1, 9, 10, 99, 100, 2 ** 31, 2 ** 32 + 5, 2 ** 48 - 1]

/** The same cells in a plain column `p` and in indexed ones, so that each filter runs on both. */
const MIXED: PhysicalTable = {
  name: 'mixed',
  columns: [
    { name: 'n', type: 'integer' },
    { name: 'indexed', type: 'integer' },
    { name: 't', type: 'text' },
    { name: 'u', type: 'text' },
  ],
  indexes: [
    { columns: ['indexed'], unique: false },
    { columns: ['u'], unique: true },
    { columns: ['indexed', 't'], unique: false },
  ],
}

/** n: 1 2 2 null null 5, t: a b null a null e. */
const ROWS: readonly NewRow[] = [
  { id: 1, n: 1, indexed: 1, t: 'a', u: 'u1' },
  { id: 2, n: 2, indexed: 2, t: 'b', u: 'u2' },
  { id: 3, n: 2, indexed: 2, t: null, u: null },
  { id: 4, n: null, indexed: null, t: 'a', u: 'u4' },
  { id: 5, n: null, indexed: null, t: null, u: null },
  { id: 6, n: 5, indexed: 5, t: 'e', u: 'u6', version: 3 },
]

type Expectation = readonly [filter: Filter, ids: readonly number[]]

const TRUE = isNull('t')

const KNOWN = not(isNull('t'))

const UNKNOWN = equal('t', 'a')

interface Task {
  readonly rows: readonly NewRow[]
  readonly filter?: Filter
  readonly aggregates: readonly Aggregate[]
  readonly expected: readonly Cell[]
}

const integers = (...cells: readonly Cell[]): readonly NewRow[] => cells.map((n, at) => ({ id: at + 1, n }))

const texts = (...cells: readonly Cell[]): readonly NewRow[] => cells.map((t, at) => ({ id: at + 1, t }))

const ofN = (...kinds: readonly Aggregate['kind'][]): readonly Aggregate[] => kinds.map((kind) => ({ kind, column: 'n' }))

const MOST = 2n ** 63n - 1n

export const findCases: readonly StorageCase[] = [
  storageCase('O1 get keeps the order asked', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds(SORTED))
    const rows = await storage.get('things', SCRAMBLED)
    assertEqual(
      rows.map((row) => row?.id),
      SCRAMBLED,
    )
  }),
  storageCase('O2 get returns an id as often as it is requested', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds([1, 2]))
    const rows = await storage.get('things', [2, 1, 2, 3, 2])
    assertEqual(
      rows.map((row) => row?.id),
      [2, 1, 2, undefined, 2],
    )
  }),
  pageCase('O3 find goes up by number, not by text or insertion', { order: 'asc', limit: 100 }, SORTED),
  pageCase('O4 find goes down by number', { order: 'desc', limit: 100 }, SORTED.toReversed()),
  pageCase('O5 a page up begins beyond `after`', { order: 'asc', after: 10, limit: 2 }, [99, 100]),
  pageCase('O6 a page down begins below `after`', { order: 'desc', after: 100, limit: 2 }, [99, 10]),
  pageCase('O7 `after` need not be an id that exists', { order: 'asc', after: 50, limit: 1 }, [99]),
  pageCase('O8 `skip` passes over rows', { order: 'asc', offset: 3, limit: 2 }, [99, 100]),
  pageCase('O9 `skip` counts from `after`', { order: 'desc', after: 2 ** 31, offset: 1, limit: 2 }, [99, 10]),
  pageCase('O10 a skip beyond the end leaves nothing', { order: 'asc', offset: 8, limit: 5 }, []),
  pageCase('O11 a limit of zero gives nothing', { order: 'asc', limit: 0 }, []),
  pageCase('O12 a limit beyond the number of rows gives all', { order: 'asc', limit: Number.MAX_SAFE_INTEGER }, SORTED),
  pageCase('O13 nothing lies beyond the last id', { order: 'asc', after: 2 ** 48 - 1, limit: 5 }, []),
  storageCase('O14 skip and limit count matching rows only', [THINGS], async (fixture) => {
    await insertTen(fixture)
    const rows = await fixture.storage.find('things', equal('n', 1), { order: 'asc', after: 2, offset: 1, limit: 2 })
    assertEqual(
      rows.map((row) => row.id),
      [6, 8],
    )
  }),
  storageCase('O15 pages walked by `after` visit every row once', [THINGS], async (fixture) => {
    await insertTen(fixture)
    const visited: number[] = []
    for (let page = 0; page < 4; page++) {
      const rows = await fixture.storage.find('things', above('id', 0), { order: 'asc', after: visited.at(-1) ?? 0, limit: 3 })
      for (const { id } of rows) visited.push(id)
    }
    assertEqual(visited, numbers(1, 10))
  }),
  storageCase('O16 update returns results in the order of its patches', [THINGS], async (fixture) => {
    await insertTen(fixture)
    const patches = [9, 50, 2, 51, 5].map((id) => ({ id, version: 1, set: { n: 7 } }))
    assertEqual(await fixture.storage.update('things', patches), [true, false, true, false, true])
  }),
  storageCase('O17 delete returns the deleted ids in rising order', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds(SCRAMBLED))
    assertEqual(await storage.delete('things', { ids: [2 ** 31, 100, 9, 77] }), [9, 100, 2 ** 31])
    assertEqual(await storage.delete('things', { filter: EVERY }), [1, 10, 99, 2 ** 32 + 5, 2 ** 48 - 1])
  }),
  filterCase('F1 every matches every row', [
    [EVERY, [1, 2, 3, 4, 5, 6]],
    [not(EVERY), []],
  ]),
  filterCase('F2 = matches equal cells and never null', [...both((c) => equal(c, 2), [2, 3]), ...both((c) => equal(c, 9), [])]),
  filterCase('F3 <> matches other cells and never null', [...both((c) => unequal(c, 2), [1, 6]), [unequal('t', 'a'), [2, 6]]]),
  filterCase('F4 < matches smaller cells and never null', [...both((c) => below(c, 2), [1]), [below('t', 'b'), [1, 4]]]),
  filterCase('F5 > matches greater cells and never null', [...both((c) => above(c, 1), [2, 3, 6]), [above('t', 'a'), [2, 6]]]),
  filterCase('F23 <= and >= match the value too, and never null', [
    ...both((c) => atMost(c, 2), [1, 2, 3]),
    ...both((c) => atLeast(c, 2), [2, 3, 6]),
    ...both((c) => and(atLeast(c, 2), not(atLeast(c, 3))), [2, 3]),
    [atMost('t', 'a'), [1, 4]],
    [and(atLeast('id', 2), atMost('id', 4)), [2, 3, 4]],
  ]),
  filterCase('F6 isNull matches null alone', [...both(isNull, [4, 5]), [not(isNull('n')), [1, 2, 3, 6]]]),
  filterCase('F7 in matches the values listed and never null', [
    ...both((c) => among(c, [1, 5, 7, 1]), [1, 6]),
    [among('t', ['a']), [1, 4]],
  ]),
  filterCase('F8 nothing is in an empty list', [...both((c) => among(c, []), [])]),
  filterCase('F9 not of unknown is unknown', [
    ...both((c) => not(equal(c, 2)), [1, 6]),
    ...both((c) => not(not(equal(c, 2))), [2, 3]),
  ]),
  filterCase('F10 not in leaves null out', [...both((c) => not(among(c, [1])), [2, 3, 6])]),
  filterCase('F11 not in an empty list matches every row, null too', [...both((c) => not(among(c, [])), [1, 2, 3, 4, 5, 6])]),
  filterCase('F12 and of nothing is true, or of nothing is false', [
    [and(), [1, 2, 3, 4, 5, 6]],
    [or(), []],
    [not(or()), [1, 2, 3, 4, 5, 6]],
  ]),
  filterCase('F13 and: false beats unknown, unknown beats true', [
    [and(TRUE, UNKNOWN), []],
    [not(and(KNOWN, UNKNOWN)), [2, 3, 5, 6]],
  ]),
  filterCase('F14 or: true beats unknown, unknown beats false', [
    [or(TRUE, UNKNOWN), [1, 3, 4, 5]],
    [not(or(KNOWN, UNKNOWN)), []],
  ]),
  filterCase('F15 unknown stays unknown through every not', [
    [not(and(UNKNOWN, UNKNOWN)), [2, 6]],
    [not(or(UNKNOWN, not(UNKNOWN))), []],
  ]),
  filterCase('F16 and, or, not nest freely', [
    [and(or(equal('n', 1), isNull('n')), not(isNull('t'))), [1, 4]],
    [or(and(equal('indexed', 2), equal('t', 'b')), and(equal('u', 'u4'), isNull('n'))), [2, 4]],
    [not(or(and(above('n', 1), below('n', 5)), isNull('n'))), [1, 6]],
    [and(equal('indexed', 2), not(equal('t', 'b'))), []],
  ]),
  filterCase('F17 conditions joined with an indexed one all hold', [
    [and(equal('indexed', 2), equal('t', 'b')), [2]],
    [and(among('indexed', [1, 2]), among('t', ['a', 'b'])), [1, 2]],
    [and(equal('u', 'u2'), equal('n', 1)), []],
    [and(equal('u', 'u2'), equal('u', 'u1')), []],
    [and(equal('id', 2), equal('id', 3)), []],
    [or(equal('indexed', 1), equal('u', 'u6')), [1, 6]],
  ]),
  filterCase('F18 id and version are columns too', [
    [equal('id', 3), [3]],
    [and(above('id', 2), below('id', 5)), [3, 4]],
    [among('id', [6, 1, 77]), [1, 6]],
    [equal('version', 3), [6]],
    [isNull('id'), []],
    [not(among('id', [1, 2, 3])), [4, 5, 6]],
  ]),
  storageCase(
    'F20 a page of some columns has those beside id and version, whatever the filter asks',
    [MIXED],
    async ({ storage }) => {
      await storage.insert('mixed', ROWS)
      const page = { order: 'desc', limit: 2, columns: ['t', 'n'] } as const
      const found = await storage.find('mixed', equal('indexed', 2), page)
      assertEqual(
        found.map((row) => ({ ...row })),
        [
          { id: 3, version: 1, t: null, n: 2 },
          { id: 2, version: 1, t: 'b', n: 2 },
        ],
      )
      const bare = await storage.find('mixed', EVERY, { order: 'asc', after: 5, limit: 9, columns: [] })
      assertEqual(
        bare.map((row) => ({ ...row })),
        [{ id: 6, version: 3 }],
      )
    },
  ),
  storageCase('F24 a row is found once by values of an index that are equal', [KEYED], async ({ storage }) => {
    const digest = (): Uint8Array => Uint8Array.of(7, 7)
    await storage.insert('keyed', [{ id: 1, digest: digest(), number: 5, color: 'red' }])
    const lists = [
      ['digest', [digest(), digest()]],
      ['number', [5, 5n]],
      ['color', ['red', 'red', 'blue']],
      ['id', [1, 1]],
    ] as const
    for (const [column, values] of lists) {
      const found = await storage.find('keyed', among(column, values), { order: 'asc', limit: 10 })
      const ids = found.map(({ id }) => id)
      assertEqual(ids, [1])
    }
  }),
  storageCase('F19 filters follow every change of an indexed cell', [MIXED], async ({ storage }) => {
    await storage.insert('mixed', ROWS)
    await storage.update('mixed', [
      { id: 1, version: 1, set: { indexed: 5, u: null } },
      { id: 2, version: 1, set: { indexed: null } },
      { id: 4, version: 1, set: { indexed: 1, u: 'u1' } },
    ])
    await storage.delete('mixed', { ids: [6] })
    assertEqual(await idsFound(storage, 'mixed', equal('indexed', 5)), [1])
    assertEqual(await idsFound(storage, 'mixed', equal('indexed', 2)), [3])
    assertEqual(await idsFound(storage, 'mixed', equal('indexed', 1)), [4])
    assertEqual(await idsFound(storage, 'mixed', equal('u', 'u1')), [4])
    assertEqual(await idsFound(storage, 'mixed', among('u', ['u6', 'u4'])), [])
  }),
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

function pageCase(name: string, page: Page, expected: readonly number[]): StorageCase {
  return storageCase(name, [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds(SCRAMBLED))
    const rows = await storage.find('things', EVERY, page)
    assertEqual(
      rows.map((row) => row.id),
      expected,
      'the page',
    )
  })
}

/** Rows 1 to 10, of which the even ones have n = 1 and the odd ones n = 0. */
async function insertTen({ storage }: StorageFixture): Promise<void> {
  await storage.insert(
    'things',
    numbers(1, 10).map((id) => ({ id, n: id % 2 === 0 ? 1 : 0 })),
  )
}

function filterCase(name: string, expectations: readonly Expectation[]): StorageCase {
  return storageCase(name, [MIXED], async ({ storage }) => {
    await storage.insert('mixed', ROWS)
    for (const [at, [filter, ids]] of expectations.entries()) {
      assertEqual(await idsFound(storage, 'mixed', filter), ids, `the rows found by filter ${at}`)
      assertEqual(await storage.aggregate('mixed', filter, [{ kind: 'count' }]), [ids.length], `the count by filter ${at}`)
    }
  })
}

/** The same expectation of a plain and an indexed column. */
function both(make: (column: string) => Filter, ids: readonly number[]): readonly Expectation[] {
  return [
    [make('n'), ids],
    [make('indexed'), ids],
  ]
}

function aggregateCase(name: string, { rows, filter, aggregates, expected }: Task): StorageCase {
  return storageCase(name, [THINGS], async ({ storage }) => {
    await storage.insert('things', rows)
    assertEqual(await storage.aggregate('things', filter ?? EVERY, aggregates), expected)
    const inside = await storage.transaction((inner) => inner.aggregate('things', filter ?? EVERY, aggregates))
    assertEqual(inside, expected, 'the result inside a transaction')
  })
}
