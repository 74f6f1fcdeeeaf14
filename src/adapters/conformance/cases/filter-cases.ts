/** Clause F: filters follow SQL's three-valued logic, with or without an index. */

import type { Filter, NewRow, PhysicalTable } from '../../../core/ports/storage.ts'
import { assertEqual } from '../assert.ts'
import { above, among, and, below, EVERY, equal, idsFound, isNull, not, or, unequal } from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

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

const TRUE = isNull('t')
const KNOWN = not(isNull('t'))
const UNKNOWN = equal('t', 'a')

export const filterCases: readonly StorageCase[] = [
  filterCase('F1 every matches every row', [
    [EVERY, [1, 2, 3, 4, 5, 6]],
    [not(EVERY), []],
  ]),
  filterCase('F2 = matches equal cells and never null', [...both((c) => equal(c, 2), [2, 3]), ...both((c) => equal(c, 9), [])]),
  filterCase('F3 <> matches other cells and never null', [...both((c) => unequal(c, 2), [1, 6]), [unequal('t', 'a'), [2, 6]]]),
  filterCase('F4 < matches smaller cells and never null', [...both((c) => below(c, 2), [1]), [below('t', 'b'), [1, 4]]]),
  filterCase('F5 > matches greater cells and never null', [...both((c) => above(c, 1), [2, 3, 6]), [above('t', 'a'), [2, 6]]]),
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
]
