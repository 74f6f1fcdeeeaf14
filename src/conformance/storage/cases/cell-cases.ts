/** Texts and numbers as they are. Clause N: any text, and any allowed name; I: integers of 64 bits, and reals. */
import type { Cell, PhysicalTable } from '../../../core/ports/storage.ts'
import { assert, assertEqual, assertRejects } from '../../assert.ts'
import {
  ALL,
  above,
  among,
  below,
  EVERY,
  equal,
  idsFound,
  KEYED,
  numbers,
  rowOf,
  rowsWithIds,
  THINGS,
  unequal,
} from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

/** Texts that engines, drivers, escapes and array or JSON parameters have been known to change. All differ. */
const ODD_TEXTS = [
  '',
  ' ',
  ' padded ',
  "it's",
  '"quoted"',
  '`tick`',
  "'; DROP TABLE things; --",
  '\\',
  '\\\\',
  '\\0',
  '\\x00',
  '\\u0000',
  '%_',
  '$1 ? :name @x',
  'line\nbreak\r\n\ttab',
  '\u0000',
  'a\u0000',
  'a\u0000b',
  '\u0000\u0000',
  '\u0001',
  '\u0001\u0001',
  '\u0001\u0002',
  '\u0000\u0001',
  '\u0001\u0000',
  '\u0002',
  '\u007f\u0080',
  'NULL',
  'null',
  '{}',
  '{a,b}',
  '{"a":1}',
  '[1,"x"]',
  '0012',
  '12',
  '1e5',
  '-0',
  'true',
  'é',
  'e\u0301',
  'Straße',
  'STRASSE',
  'مرحبا',
  '\u202eabc',
  '\ufeffbom',
  '\ufffd',
  '\uffff',
  '👩‍👩‍👧',
  '\u{10ffff}',
  '日本語',
]

const ODD_ROWS = ODD_TEXTS.map((t, at) => ({ id: at + 1, t }))

/** Rising by code point: NUL first, and what lies beyond U+FFFF after everything below it. */
const RISING = [
  '',
  '\u0000',
  '\u0000\u0000',
  '\u0001',
  '\u0002',
  ' ',
  'A',
  'Z',
  'a',
  'a\u0000',
  'a\u0001',
  'ab',
  'z',
  'é',
  '\ud7ff',
  '\uff5e',
]

RISING.push('\uffff', '\u{10000}', '\u{1f600}', '\u{1f600}a', '\u{10ffff}')

const LONG_TABLE = `t${'_long'.repeat(12)}_x`.slice(0, 63)

const LONG_COLUMN = `c${'_name'.repeat(12)}_x`.slice(0, 63)

/** Names that are the same for their first 62 characters, and words of SQL. */
const HOSTILE: readonly PhysicalTable[] = [
  {
    name: LONG_TABLE,
    columns: [
      { name: LONG_COLUMN, type: 'text' },
      { name: `${LONG_COLUMN.slice(0, 62)}y`, type: 'text' },
    ],
    indexes: [
      { columns: [LONG_COLUMN], unique: true },
      { columns: [`${LONG_COLUMN.slice(0, 62)}y`], unique: true },
    ],
  },
  {
    name: `${LONG_TABLE.slice(0, 62)}y`,
    columns: [{ name: LONG_COLUMN, type: 'text' }],
    indexes: [{ columns: [LONG_COLUMN], unique: true }],
  },
  {
    name: 'select',
    columns: ['order', 'group', 'index', 'rowid', 'value', 'key', 'table', 'user', 'wanted', 'row', 't', 'w'].map((name) => ({
      name,
      type: 'text',
    })),
    indexes: [
      { columns: ['order', 'group'], unique: true },
      { columns: ['table'], unique: true },
      { columns: ['key'], unique: false },
    ],
  },
]

const MOST = 2n ** 63n - 1n

const LEAST = -(2n ** 63n)

const same = (cells: readonly Cell[]) => cells.map((cell) => [cell, cell] as const)

/** Neighbors that become one where an engine or driver goes through floating point. */
const NEIGHBORS = [2n ** 53n, 2n ** 53n + 1n, 2n ** 53n + 2n, -(2n ** 53n), -(2n ** 53n) - 1n, MOST - 1n, MOST, LEAST, LEAST + 1n]

export const cellCases: readonly StorageCase[] = [
  storageCase('N1 any text comes back as it is, from get and from find', [THINGS], async ({ storage }) => {
    await storage.insert('things', ODD_ROWS)
    const got = await storage.get(
      'things',
      ODD_ROWS.map((row) => row.id),
    )
    for (const [at, row] of got.entries()) assertEqual(row?.t, ODD_TEXTS[at], `text ${at} from get`)
    for (const [at, row] of (await storage.find('things', EVERY, ALL)).entries())
      assertEqual(row.t, ODD_TEXTS[at], `text ${at} from find`)
  }),
  storageCase('N2 any text can be patched in', [THINGS], async ({ storage }) => {
    await storage.insert(
      'things',
      ODD_ROWS.map(({ id }) => ({ id, t: 'before' })),
    )
    await storage.update(
      'things',
      ODD_ROWS.map(({ id, t }) => ({ id, version: 1, set: { t } })),
    )
    for (const [at, row] of (await storage.find('things', EVERY, ALL)).entries()) assertEqual(row.t, ODD_TEXTS[at], `text ${at}`)
  }),
  storageCase('N3 any text is found by = and by nothing else', [THINGS], async ({ storage }) => {
    await storage.insert('things', ODD_ROWS)
    for (const { id, t } of ODD_ROWS)
      assertEqual(await idsFound(storage, 'things', equal('t', t)), [id], `the rows whose text is number ${id}`)
    assertEqual((await idsFound(storage, 'things', unequal('t', 'a\u0000'))).length, ODD_TEXTS.length - 1)
  }),
  storageCase('N4 any text is found by in', [THINGS], async ({ storage }) => {
    await storage.insert('things', ODD_ROWS)
    const odd = ODD_ROWS.filter((row) => row.id % 2 === 1)
    const wanted = odd.map((row) => row.t)
    const expected = odd.map((row) => row.id)
    assertEqual(await idsFound(storage, 'things', among('t', wanted)), expected)
  }),
  storageCase('N5 a unique index distinguishes all texts and finds each again', [indexedTexts()], async ({ storage }) => {
    await storage.insert('texts', ODD_ROWS)
    for (const t of ['', '\u0000', '\u0001\u0001', 'e\u0301', '\\0', '\u{10ffff}']) {
      await assertRejects(storage.insert('texts', [{ id: 999, t }]), 'conflict', 'a second row of the same text')
    }
    for (const { id, t } of ODD_ROWS)
      assertEqual(await idsFound(storage, 'texts', equal('t', t)), [id], `the rows whose text is number ${id}`)
  }),
  storageCase('N6 a megabyte of text comes back', [THINGS], async ({ storage }) => {
    const big = 'añ\u0000😀'.repeat(131_072)
    await storage.insert('things', [{ id: 1, t: big }])
    assert((await rowOf(storage, 'things', 1)).t === big, 'the text should be the same')
  }),
  storageCase('N7 text is compared by code point', [THINGS], async ({ storage }) => {
    await storage.insert(
      'things',
      RISING.map((t, at) => ({ id: at + 1, t })),
    )
    for (const [at, t] of RISING.entries()) {
      assertEqual(await idsFound(storage, 'things', below('t', t)), numbers(1, at), `the rows below text ${at}`)
      assertEqual(
        await idsFound(storage, 'things', above('t', t)),
        numbers(at + 2, RISING.length - at - 1),
        `the rows above text ${at}`,
      )
    }
  }),
  storageCase('N8 tables and columns of any allowed name work, 63 characters and SQL words too', HOSTILE, async ({ storage }) => {
    for (const { name, columns, indexes } of HOSTILE) {
      const cells = Object.fromEntries(columns.map((column) => [column.name, `cell of ${column.name}`]))
      const [id = 0] = await storage.reserveIds(name, 1)
      await storage.insert(name, [{ id, ...cells }])
      assertEqual(await rowOf(storage, name, id), { id, version: 1, ...cells })
      assertEqual(await storage.get(name, [id, id + 1]), [{ id, version: 1, ...cells }, undefined])
      for (const column of columns) {
        const value = `cell of ${column.name}`
        assertEqual(await idsFound(storage, name, equal(column.name, value)), [id])
        assertEqual(await idsFound(storage, name, { kind: 'in', column: column.name, values: [value, 'none'] }), [id])
        assertEqual(await storage.aggregate(name, EVERY, [{ kind: 'max', column: column.name }]), [`cell of ${column.name}`])
      }
      const unique = indexes.find((index) => index.unique)
      const copied = Object.fromEntries((unique?.columns ?? []).map((column) => [column, cells[column] ?? null]))
      const error = await assertRejects(storage.insert(name, [{ id: id + 1, ...copied }]), 'conflict')
      assertEqual([error.details[0]?.table, error.details[0]?.columns], [name, unique?.columns])
      await storage.update(name, [{ id, version: 1, set: Object.fromEntries(columns.map((column) => [column.name, 'new'])) }])
      assertEqual((await rowOf(storage, name, id)).version, 2)
    }
  }),
  roundTrip(
    'I1 integers below 2^53 are numbers',
    'n',
    same([0, 1, -1, 255, 2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 53 - 1, -(2 ** 53) + 1]),
  ),
  roundTrip('I2 integers from 2^53 on are exact bigints, to the ends of 64 bits', 'n', same(NEIGHBORS)),
  roundTrip('I3 the size alone decides between number and bigint', 'n', [
    [5n, 5],
    [-(2n ** 53n) + 1n, -(2 ** 53) + 1],
    [0n, 0],
    [2n ** 53n - 1n, 2 ** 53 - 1],
  ]),
  roundTrip(
    'I4 reals come back exact',
    'r',
    same([0, 0.1, -1.5, 1 / 3, 1e308, -1.7976931348623157e308, 5e-324, 2 ** -1074, 1e21, 123456789.12345679]),
  ),
  roundTrip('I5 a whole real is a number', 'r', same([3, -7, 1e15, 2 ** 53, 2 ** 60])),
  roundTrip('I6 minus zero is zero', 'r', [[-0, 0]]),
  storageCase('I7 big integers compare exactly', [THINGS], async ({ storage }) => {
    await storage.insert('things', NEIGHBORS.map((n, at) => ({ id: at + 1, n }))) // biome-ignore format: one line
    for (const [at, n] of NEIGHBORS.entries()) {
      const ids = (test: (other: bigint) => boolean) => numbers(1, 9).filter((id) => test(NEIGHBORS[id - 1] ?? 0n))
      assertEqual(await idsFound(storage, 'things', equal('n', n)), [at + 1])
      assertEqual(await idsFound(storage, 'things', below('n', n)), ids((other) => other < n)) // biome-ignore format: one line
      assertEqual(await idsFound(storage, 'things', above('n', n)), ids((other) => other > n)) // biome-ignore format: one line
      assertEqual(await idsFound(storage, 'things', among('n', [n, 4])), [at + 1])
    }
  }),
  storageCase('I8 numbers and bigints of one size are equal', [THINGS], async ({ storage }) => {
    await storage.insert('things', numbers(1, 5).map((n) => ({ id: n, n }))) // biome-ignore format: one line
    assertEqual(await idsFound(storage, 'things', equal('n', 3n)), [3])
    assertEqual(await idsFound(storage, 'things', unequal('n', 3n)), [1, 2, 4, 5])
    assertEqual(await idsFound(storage, 'things', among('n', [1n, 2, 5n, 2n ** 60n])), [1, 2, 5])
    assertEqual(await idsFound(storage, 'things', below('n', 2n ** 62n)), numbers(1, 5))
  }),
  storageCase('I9 a unique index distinguishes big neighbors', [KEYED], async ({ storage }) => {
    await storage.insert('keyed', NEIGHBORS.map((number, at) => ({ id: at + 1, number }))) // biome-ignore format: one line
    await assertRejects(storage.insert('keyed', [{ id: 20, number: 2n ** 53n + 1n }]), 'conflict')
    assertEqual(await idsFound(storage, 'keyed', among('number', [MOST, 2n ** 53n + 1n])), [2, 7])
  }),
  storageCase('I10 big integers can be patched in', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds([1, 2]))
    await storage.update('things', [
      { id: 1, version: 1, set: { n: MOST } },
      { id: 2, version: 1, set: { n: 12 } },
    ])
    assertEqual([(await rowOf(storage, 'things', 1)).n, (await rowOf(storage, 'things', 2)).n], [MOST, 12])
  }),
  storageCase('I11 reals compare as numbers', [THINGS], async ({ storage }) => {
    const rising = [-1e308, -10, -2.5, 0, 5e-324, 0.1, 0.25, 9, 10, 1e15, 1e308]
    await storage.insert('things', rising.map((r, at) => ({ id: at + 1, r }))) // biome-ignore format: one line
    for (const [at, r] of rising.entries()) {
      assertEqual(await idsFound(storage, 'things', equal('r', r)), [at + 1])
      assertEqual(await idsFound(storage, 'things', below('r', r)), numbers(1, at))
    }
    assertEqual(await idsFound(storage, 'things', among('r', [0.1, 9, 7])), [6, 8])
  }),
  storageCase('I12 ids and versions are numbers up to 2^48 and beyond 2^31', [THINGS], async ({ storage }) => {
    const id = 2 ** 48 - 1
    await storage.insert('things', [{ id, version: 2 ** 33 }])
    await storage.update('things', [{ id, version: 2 ** 33, set: {} }])
    const row = await rowOf(storage, 'things', id)
    assert(row.id === id && row.version === 2 ** 33 + 1, 'id and version should be exact numbers')
    assertEqual(await storage.delete('things', { ids: [id] }), [id])
  }),
]

function indexedTexts(): PhysicalTable {
  return { name: 'texts', columns: [{ name: 't', type: 'text' }], indexes: [{ columns: ['t'], unique: true }] }
}

/** A case in which each given cell must come back as the expected one, of the very same type. */
function roundTrip(name: string, column: string, cells: readonly (readonly [given: Cell, expected: Cell])[]): StorageCase {
  return storageCase(name, [THINGS], async ({ storage }) => {
    await storage.insert('things', cells.map(([given], at) => ({ id: at + 1, [column]: given }))) // biome-ignore format: one line
    const rows = await storage.get('things', numbers(1, cells.length))
    for (const [at, [, expected]] of cells.entries()) assertEqual(rows[at]?.[column], expected, `cell ${at}`)
  })
}
