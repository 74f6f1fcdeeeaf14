/** Bytes and lists of any length. Clause B: bytes are copied in and out; V: lists from none to more than one statement takes. */
import type { Changes, Filter, NewRow, PhysicalTable } from '../../../core/ports/storage.ts'
import { assert, assertEqual, assertRejects } from '../../assert.ts'
import {
  ALL,
  above,
  among,
  and,
  below,
  EVERY,
  equal,
  idsFound,
  isNull,
  KEYED,
  not,
  numbers,
  or,
  rowOf,
  rowsWithIds,
  THINGS,
  unequal,
} from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

const ALL_BYTES = Uint8Array.from(numbers(0, 256))

/** A subclass of `Uint8Array`, as some runtimes return bytes. */
class OddBytes extends Uint8Array<ArrayBuffer> {}

const WIDE: PhysicalTable = {
  name: 'wide',
  columns: numbers(1, 100).map((each) => ({ name: `c${each}`, type: 'integer' })),
  indexes: [],
}

const COUNT = [{ kind: 'count' }] as const

const INTEGERS = [0, -1, 2 ** 31, -(2 ** 32), 2 ** 53 - 1, 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n)]

const REALS = [0, -0.1, 1e308, 5e-324, 2 ** 53 + 2, -1 / 3]

const TEXTS = ['', 'plain', 'two\nlines\r\n', 'NUL \u0000 and \u0001', '\u{1f511} é ß', '"quoted", {braced} \\']

export const bytesCases: readonly StorageCase[] = [
  storageCase('B1 get and find give plain Uint8Arrays with every byte as it was', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, b: ALL_BYTES }])
    assertPlain((await rowOf(storage, 'things', 1)).b, ALL_BYTES)
    const [found] = await storage.find('things', EVERY, ALL)
    assertPlain(found?.b, ALL_BYTES)
    const [inside] = await storage.transaction((inner) => inner.get('things', [1]))
    assertPlain(inside?.b, ALL_BYTES)
  }),
  storageCase('B2 empty bytes are bytes and not null', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, b: new Uint8Array(0) }, { id: 2 }])
    assertPlain((await rowOf(storage, 'things', 1)).b, new Uint8Array(0))
    assertEqual(await idsFound(storage, 'things', isNull('b')), [2])
    assertEqual(await idsFound(storage, 'things', equal('b', new Uint8Array(0))), [1])
  }),
  storageCase('B3 a megabyte of bytes comes back', [THINGS], async ({ storage }) => {
    const big = Uint8Array.from({ length: 1_048_576 }, (_, at) => (at * 31) & 0xff)
    await storage.insert('things', [{ id: 1, b: big }])
    assertPlain((await rowOf(storage, 'things', 1)).b, big)
  }),
  storageCase('B4 a window on larger memory is stored as the window alone', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, b: ALL_BYTES.subarray(10, 13) }])
    assertPlain((await rowOf(storage, 'things', 1)).b, new Uint8Array([10, 11, 12]))
  }),
  storageCase('B5 another kind of byte array comes back plain', [THINGS], async ({ storage }) => {
    await storage.insert('things', [{ id: 1, b: OddBytes.from([1, 2]) }])
    await storage.update('things', [{ id: 1, version: 1, set: { b: OddBytes.from([3, 4]) } }])
    assertPlain((await rowOf(storage, 'things', 1)).b, new Uint8Array([3, 4]))
  }),
  storageCase('B6 changing an array after it was handed in or out changes no row', [THINGS], async ({ storage }) => {
    const given = new Uint8Array([1, 2, 3])
    await storage.insert('things', [{ id: 1, b: given }])
    given.fill(7)
    const out = (await rowOf(storage, 'things', 1)).b
    assertPlain(out, new Uint8Array([1, 2, 3]))
    if (out instanceof Uint8Array) out.fill(8)
    assertPlain((await rowOf(storage, 'things', 1)).b, new Uint8Array([1, 2, 3]))
  }),
  storageCase('B7 bytes compare byte by byte, the longer after its beginning', [THINGS], async ({ storage }) => {
    const sorted = [[], [0], [0, 0], [0, 255], [1], [127], [128], [255], [255, 0]].map((each) => new Uint8Array(each))
    await storage.insert(
      'things',
      sorted.map((b, at) => ({ id: at + 1, b })),
    )
    const middle = new Uint8Array([127])
    assertEqual(await idsFound(storage, 'things', below('b', middle)), numbers(1, 5))
    assertEqual(await idsFound(storage, 'things', above('b', middle)), numbers(7, 3))
    assertEqual(await idsFound(storage, 'things', equal('b', middle)), [6])
    assertEqual(await idsFound(storage, 'things', and(unequal('b', middle), above('b', new Uint8Array([0, 255])))), [5, 7, 8, 9])
  }),
  storageCase('B8 bytes are found among bytes', [THINGS], async ({ storage }) => {
    await storage.insert(
      'things',
      numbers(0, 256).map((each) => ({ id: each + 1, b: new Uint8Array([each, 0, each]) })),
    )
    const wanted = [0, 10, 34, 92, 128, 255].map((each) => new Uint8Array([each, 0, each]))
    assertEqual(await idsFound(storage, 'things', among('b', wanted)), [1, 11, 35, 93, 129, 256])
    assertEqual((await idsFound(storage, 'things', not(among('b', wanted)))).length, 250)
  }),
  storageCase(
    'B9 bytes that were handed in stay as they are, and so does the memory around them',
    [THINGS],
    async ({ storage }) => {
      const memory = Uint8Array.from(ALL_BYTES)
      const window = (at: number): Uint8Array => memory.subarray(at * 16, at * 16 + 16)
      const change = (version: number): Changes => ({
        updates: [
          { table: 'things', patches: [{ id: 1, version, set: { b: window(version + 1) }, expected: { b: window(version) } }] },
        ],
        inserts: [{ table: 'things', rows: [{ id: version + 1, b: window(version + 8) }] }],
      })
      await storage.insert('things', [{ id: 1, b: window(1) }])
      assertEqual(await storage.commit(change(1)), true)
      assertEqual(await storage.update('things', change(2).updates[0]?.patches ?? []), [true])
      await storage.commit(change(3), { read: { table: 'things', id: 1 } })
      await storage.transaction(async (inner) => {
        await inner.insert('things', [{ id: 9, b: window(14) }])
        await inner.commit({ updates: [], inserts: [{ table: 'things', rows: [{ id: 10, b: window(15) }] }] })
      })
      assertEqual(await idsFound(storage, 'things', among('b', [window(9), window(15)])), [2, 10])
      assertEqual(await storage.delete('things', { filter: equal('b', window(14)) }), [9])
      assertEqual(memory, ALL_BYTES)
    },
  ),
  storageCase('V1 empty lists return empty lists', [THINGS], async ({ storage }) => {
    await storage.insert('things', [])
    assertEqual(await storage.get('things', []), [])
    assertEqual(await storage.update('things', []), [])
    assertEqual(await storage.delete('things', { ids: [] }), [])
    assertEqual(await storage.reserveIds('things', 0), [])
    assertEqual(await storage.aggregate('things', EVERY, []), [])
    assertEqual(await idsFound(storage, 'things', EVERY), [])
    await storage.prepare([])
  }),
  storageCase('V2 20,000 rows are inserted in one call and read in one', [THINGS], async ({ storage }) => {
    const ids = numbers(1, 20_000)
    await storage.insert(
      'things',
      ids.map((id) => ({ id, n: id * 2, t: `row ${id}`, b: new Uint8Array([id & 0xff]) })),
    )
    assertEqual(await storage.aggregate('things', EVERY, [...COUNT, { kind: 'sum', column: 'n' }]), [20_000, 400_020_000])
    const rows = await storage.find('things', EVERY, ALL)
    assert(
      rows.every((row, at) => row.id === at + 1 && row.n === row.id * 2 && row.t === `row ${row.id}`),
      'every row should be as inserted',
    )
  }),
  storageCase('V3 70,000 ids are got in one call, in order, present or not', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds(numbers(1, 100).map((each) => each * 700)))
    const asked = numbers(1, 70_000).toReversed()
    const rows = await storage.get('things', asked)
    assertEqual(rows.length, 70_000)
    assert(
      rows.every((row, at) => row?.id === ((asked[at] ?? 0) % 700 === 0 ? asked[at] : undefined)),
      'every result should have the position of its id',
    )
  }),
  storageCase('V4 20,000 patches are applied in one call', [THINGS], async ({ storage }) => {
    const ids = numbers(1, 20_000)
    await storage.insert('things', rowsWithIds(ids))
    const results = await storage.update(
      'things',
      ids.map((id) => ({ id, version: id % 100 === 0 ? 7 : 1, set: { n: id, t: `t${id}` } })),
    )
    assert(
      results.length === 20_000 && results.every((applied, at) => applied === ((at + 1) % 100 !== 0)),
      'each patch of the standing version should apply, and no other',
    )
    assertEqual(await storage.aggregate('things', EVERY, [{ kind: 'count', column: 'n' }]), [19_800])
    const { n, t } = await rowOf(storage, 'things', 19_999)
    assertEqual([n, t], [19_999, 't19999'])
  }),
  storageCase('V5 20,000 ids are deleted in one call', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds(numbers(1, 20_005)))
    const gone = await storage.delete('things', { ids: numbers(6, 30_000).toReversed() })
    assert(gone.length === 20_000 && gone.every((id, at) => id === at + 6), 'the ids that went should come rising')
    assertEqual(await idsFound(storage, 'things', EVERY), numbers(1, 5))
  }),
  storageCase('V6 20,000 rows are deleted by one filter', [THINGS], async ({ storage }) => {
    await storage.insert('things', rowsWithIds(numbers(1, 20_000)))
    assertEqual((await storage.delete('things', { filter: EVERY })).length, 20_000)
    assertEqual(await storage.aggregate('things', EVERY, COUNT), [0])
  }),
  storageCase('V7 100,000 ids are reserved in one call, rising', [THINGS], async ({ storage }) => {
    const ids = await storage.reserveIds('things', 100_000)
    assertEqual(ids.length, 100_000)
    assert(
      ids.every((id, at) => at === 0 || id > (ids[at - 1] ?? 0)),
      'ids should rise',
    )
  }),
  storageCase('V8 in takes no, one and 5,000 values of every type, indexed or not', [KEYED], async ({ storage }) => {
    const digest = (id: number) => new Uint8Array([id >> 8, id & 0xff])
    await storage.insert(
      'keyed',
      numbers(1, 300).map((id) => ({ id, number: id, email: `${id}@x`, digest: digest(id), color: `c${id}`, nick: `${id}` })),
    )
    const expected = numbers(1, 150).map((each) => each * 2)
    const wanted = numbers(1, 5000).map((each) => each * 2)
    assertEqual(await idsFound(storage, 'keyed', among('number', wanted)), expected, 'integers')
    assertEqual(await idsFound(storage, 'keyed', among('id', wanted)), expected, 'ids')
    assertEqual(await idsFound(storage, 'keyed', among('digest', wanted.map(digest))), expected, 'bytes') // biome-ignore format: one line
    for (const [column, text] of [
      ['email', (each: number) => `${each}@x`],
      ['color', (each: number) => `c${each}`],
      ['nick', String],
    ] as const) {
      assertEqual(await idsFound(storage, 'keyed', among(column, wanted.map(text))), expected, column)
      assertEqual(await idsFound(storage, 'keyed', among(column, [text(8)])), [8], column)
      assertEqual(await idsFound(storage, 'keyed', among(column, [])), [], column)
    }
  }),
  storageCase('V9 2,000 rows of 100 columns are inserted in one call', [WIDE], async ({ storage }) => {
    await storage.insert(
      'wide',
      numbers(1, 2000).map((id) => ({ id, ...Object.fromEntries(WIDE.columns.map(({ name }, at) => [name, id + at])) })),
    )
    const sums = await storage.aggregate('wide', EVERY, [
      ...COUNT,
      { kind: 'max', column: 'c1' },
      { kind: 'min', column: 'c100' },
    ])
    assertEqual(sums, [2000, 2000, 100])
  }),
  storageCase('V10 filters may have hundreds of parts and many levels', [THINGS], async ({ storage }) => {
    await storage.insert(
      'things',
      numbers(1, 400).map((id) => ({ id, n: id })),
    )
    const parts = numbers(1, 300).map((each) => equal('n', each))
    assertEqual((await idsFound(storage, 'things', { kind: 'or', filters: parts })).length, 300)
    assertEqual((await idsFound(storage, 'things', { kind: 'and', filters: parts.map(not) })).length, 100)
    let deep: Filter = equal('n', 5)
    for (let level = 0; level < 50; level++) deep = not(and(deep, EVERY))
    assertEqual(await idsFound(storage, 'things', deep), [5])
  }),
  storageCase(
    'V11 lists of rows with cells of every type, missing, short and long, equal the rows one by one',
    [THINGS],
    async ({ storage }) => {
      const rows = numbers(1, 400).map(mixedRow)
      await storage.insert('things', rows)
      const expected = rows.map((row) => ({ ...row, version: 1 }))
      assertEqual(await storage.get('things', numbers(1, 400)), expected)
      const asked = [...numbers(1, 200), 9000, 7, 7, ...numbers(300, 50).toReversed()]
      const found = asked.map((id) => expected[id - 1])
      assertEqual(await storage.get('things', asked), found)
      assertEqual(await storage.find('things', EVERY, { order: 'asc', limit: 400 }), expected)
      const last = { order: 'desc', limit: 200, offset: 10, after: 300 } as const
      assertEqual(await storage.find('things', above('id', 50), last), expected.slice(89, 289).reverse())
      assertEqual(await storage.find('things', below('id', 0), { order: 'asc', limit: 200 }), [])
      assertEqual(await storage.get('things', numbers(1000, 100)), numbers(1000, 100).map(() => undefined)) // biome-ignore format: one line
      const long = { id: 500, n: null, r: null, t: 'é'.repeat(40_000), b: new Uint8Array(100_000).fill(0xff) }
      await storage.insert('things', [long])
      const withLong = [...expected.slice(0, 100), { ...long, version: 1 }]
      assertEqual(await storage.get('things', [...numbers(1, 100), 500]), withLong)
      assertEqual(await storage.get('things', [...numbers(1, 100), 500]), withLong)
      assertEqual(await storage.find('things', EVERY, { order: 'desc', limit: 300 }), [{ ...long, version: 1 }, ...expected.slice(101).reverse()]) // biome-ignore format: one line
    },
  ),
  storageCase(
    'V12 texts of 2,500 characters of any script are indexed, found, and unique to their last one',
    [KEYED],
    async ({ storage }) => {
      const long = scriptsOf(2500)
      const last = `${long.slice(0, -2)}\u{1f511}`
      const rows = [long, last, `${long}\\`, '\\'.repeat(2500), '\u0000'.repeat(2500), long.slice(0, 1200)]
      for (const [at, text] of rows.entries()) await storage.insert('keyed', [{ id: at + 1, email: text, color: text }])
      const conflict = { code: 'conflict', details: [{ table: 'keyed', columns: ['email'], index: 0 }] }
      for (const [at, text] of rows.entries()) {
        for (const column of ['email', 'color']) {
          assertEqual(await idsFound(storage, 'keyed', equal(column, text)), [at + 1])
          assertEqual(await idsFound(storage, 'keyed', among(column, [text, 'none'])), [at + 1])
          const around = or(below(column, text), equal(column, text), above(column, text))
          assertEqual(await idsFound(storage, 'keyed', around), numbers(1, rows.length))
          assertEqual(await idsFound(storage, 'keyed', and(not(below(column, text)), not(above(column, text)))), [at + 1])
        }
        const error = await assertRejects(storage.insert('keyed', [{ id: 100, email: text }]), 'conflict')
        assertEqual({ code: error.code, details: error.details }, conflict)
      }
      const clash = await assertRejects(storage.insert('keyed', [{ id: 101 }, { id: 102, email: last }, { id: 103 }]), 'conflict')
      assertEqual(clash.details[0]?.columns, ['email'])
      await storage.insert('keyed', [
        { id: 104, realm: long, nick: last },
        { id: 105, realm: long, nick: long },
      ])
      await assertRejects(storage.insert('keyed', [{ id: 106, realm: long, nick: last }]), 'conflict')
      assertEqual(await idsFound(storage, 'keyed', and(equal('realm', long), equal('nick', last))), [104])
    },
  ),
]

function assertPlain(cell: unknown, expected: Uint8Array): void {
  assert(
    cell instanceof Uint8Array && Object.getPrototypeOf(cell) === Uint8Array.prototype,
    'the cell should be a plain Uint8Array',
  )
  assertEqual(cell, expected)
}

/** A text of so many characters, most of them of four bytes, that no engine can compress. */
function scriptsOf(count: number): string {
  let state = 1
  return Array.from({ length: count }, () => {
    state = (state * 48_271) % 2_147_483_647
    return String.fromCodePoint(0x20000 + (state % 0xa000))
  }).join('')
}

/** A row whose cells differ from those of its neighbors, and are null at times. */
function mixedRow(id: number): NewRow {
  const b = Uint8Array.from({ length: (id * 7) % 300 }, (_, at) => (at * 37 + id) & 0xff)
  return {
    id,
    n: id % 11 === 0 ? null : (INTEGERS[id % INTEGERS.length] ?? null),
    r: id % 13 === 0 ? null : (REALS[id % REALS.length] ?? null),
    t: id % 7 === 0 ? null : `${TEXTS[id % TEXTS.length]}${id}`.slice(id % 5 === 0 ? 4 : 0),
    b: id % 3 === 0 ? null : b,
  }
}
