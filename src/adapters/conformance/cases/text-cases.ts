/** Clause N: any text, and any allowed name, is stored, found and compared as it is. */

import type { PhysicalTable } from '../../../core/ports/storage.ts'
import { assert, assertEqual, assertRejects } from '../assert.ts'
import { ALL, above, among, below, EVERY, equal, idsFound, numbers, rowOf, THINGS, unequal } from '../sample.ts'
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

export const textCases: readonly StorageCase[] = [
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
]

function indexedTexts(): PhysicalTable {
  return { name: 'texts', columns: [{ name: 't', type: 'text' }], indexes: [{ columns: ['t'], unique: true }] }
}
