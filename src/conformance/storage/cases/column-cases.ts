/** Clause L: a column is read in parts that together are the cells of the rows that match. */

import type { Cell, Filter, NewRow, PhysicalTable, Storage } from '../../../core/ports/storage.ts'
import { append } from '../../../core/util/lists.ts'
import { slabItem } from '../../../core/util/memory.ts'
import { assertEqual, assertRejects } from '../../assert.ts'
import { ALL, above, among, and, below, EVERY, equal, isNull, not, or } from '../sample.ts'
import { type StorageCase, storageCase } from '../storage-case.ts'

const MEASURED: PhysicalTable = {
  name: 'measured',
  columns: [
    { name: 'n', type: 'integer' },
    { name: 'r', type: 'real' },
    { name: 't', type: 'text' },
    { name: 'b', type: 'bytes' },
    { name: 'indexed', type: 'integer' },
    { name: 'u', type: 'text' },
  ],
  indexes: [
    { columns: ['indexed'], unique: false },
    { columns: ['u'], unique: true },
  ],
}

/** In falling order of ids, which have gaps, as far apart as a table of many deleted rows has. */
const ROWS: readonly NewRow[] = [
  { id: 900_000, n: -(2n ** 63n), r: 5e-324, t: 'x', b: Uint8Array.of(9), indexed: 2, u: 'u9' },
  { id: 12_000, n: 0, r: 0, t: 'y', indexed: 1, u: 'u8' },
  { id: 11_999, n: null, r: null, t: null, indexed: 2, u: 'u7' },
  { id: 7, n: 2n ** 53n + 1n, r: -1.5, t: '', b: new Uint8Array(0), indexed: 2, u: 'u6' },
  { id: 3, n: 9007199254740991, r: Number.MAX_VALUE, t: 'ß', b: Uint8Array.of(0, 255), u: 'u5' },
  { id: 2, n: -1, r: 0.1, t: 'z', b: Uint8Array.of(1), indexed: 2, u: 'u4' },
]

const COLUMNS = ['id', 'version', 'n', 'r', 't', 'b'] as const

const FILTERS: readonly Filter[] = [
  EVERY,
  equal('t', 'y'),
  equal('indexed', 2),
  among('indexed', [1, 2]),
  and(equal('indexed', 2), above('r', 0)),
  equal('u', 'u6'),
  among('u', ['u9', 'u4', 'none']),
  and(above('id', 2), below('id', 12_000)),
  among('id', [2, 11_999, 900_000, 900_001]),
  or(isNull('n'), not(equal('n', 0))),
  above('id', 900_000),
]

/** Every part of a column, in order. A part that is longer than its limit, or has no end, fails. */
async function wholeColumn(
  storage: Storage,
  filter: Filter,
  { column, limit, after }: { readonly column: string; readonly limit: number; readonly after?: number },
): Promise<Cell[]> {
  const cells: Cell[] = []
  let next = after
  for (let parts = 0; parts < 1000; parts++) {
    const page = { shape: 'column', column, limit, ...(next === undefined ? {} : { after: next }) } as const
    const part = await storage.scan('measured', filter, page)
    if (part.cells.length > limit) throw new Error(`a part has ${part.cells.length} cells, and its limit is ${limit}`)
    append(cells, part.cells)
    if (part.next === undefined) return cells
    if (next !== undefined && part.next <= next) throw new Error('a part ends before it begins')
    next = part.next
  }
  throw new Error('a column of six rows has no end')
}

async function assertColumns(storage: Storage): Promise<void> {
  for (const [position, filter] of FILTERS.entries()) {
    const rows = await storage.find('measured', filter, ALL)
    for (const column of COLUMNS) {
      const expected = rows.map((row) => row[column] ?? null)
      const what = `column ${column} by filter ${position}`
      assertEqual(await wholeColumn(storage, filter, { column, limit: 1 }), expected, what)
      assertEqual(await wholeColumn(storage, filter, { column, limit: 4096 }), expected, what)
    }
  }
}

/** Every part of a column of bytes, as rows with null as empty bytes. A part that shares memory with the one before fails. */
async function wholeBytes(
  storage: Storage,
  filter: Filter,
  { limit, after }: { readonly limit: number; readonly after?: number },
): Promise<[id: number, cell: Uint8Array][]> {
  const found: [number, Uint8Array][] = []
  let next = after
  for (let parts = 0; parts < 1000; parts++) {
    const page = { shape: 'bytes', column: 'b', limit, ...(next === undefined ? {} : { after: next }) } as const
    const part = await storage.scan('measured', filter, page)
    if (part.ids.length > limit) throw new Error(`a part has ${part.ids.length} cells, and its limit is ${limit}`)
    assertEqual(part.cells.count, part.ids.length, 'the number of cells')
    for (const [index, id] of part.ids.entries()) found.push([id, slabItem(part.cells, index).slice()])
    // Nothing may remain of this in a later part, nor in a stored row.
    part.cells.bytes.fill(0xee)
    part.free?.()
    if (part.next === undefined) return found
    if (next !== undefined && part.next <= next) throw new Error('a part ends before it begins')
    next = part.next
  }
  throw new Error('a column of six rows has no end')
}

async function assertBytes(storage: Storage): Promise<void> {
  for (const [position, filter] of FILTERS.entries()) {
    const rows = await storage.find('measured', filter, ALL)
    const expected = rows.map(({ id, b }) => [id, b instanceof Uint8Array ? b : new Uint8Array(0)])
    for (const limit of [1, 3, 4096]) {
      assertEqual(await wholeBytes(storage, filter, { limit }), expected, `bytes by filter ${position}, ${limit} at once`)
    }
  }
}

export const columnCases: readonly StorageCase[] = [
  storageCase('L1 the parts of a column are its cells of the rows that a filter finds', [MEASURED], async ({ storage }) => {
    await storage.insert('measured', ROWS)
    await assertColumns(storage)
    await storage.transaction(assertColumns)
  }),
  storageCase('L2 a part begins after an id, also one that no row has', [MEASURED], async ({ storage }) => {
    await storage.insert('measured', ROWS)
    assertEqual(await wholeColumn(storage, EVERY, { column: 'r', limit: 2, after: 5 }), [-1.5, null, 0, 5e-324])
    assertEqual(await wholeColumn(storage, EVERY, { column: 'r', limit: 9, after: 12_000 }), [5e-324])
    assertEqual(await wholeColumn(storage, EVERY, { column: 'r', limit: 9, after: 900_000 }), [])
  }),
  storageCase('L3 a transaction reads the cells that it wrote', [MEASURED], async ({ storage }) => {
    await storage.insert('measured', ROWS.slice(0, 1))
    await storage.transaction(async (inner) => {
      await inner.insert('measured', [{ id: 5, r: 2 }])
      await inner.update('measured', [{ id: 900_000, version: 1, set: { r: 3 } }])
      assertEqual(await wholeColumn(inner, EVERY, { column: 'r', limit: 9 }), [2, 3])
    })
    assertEqual(await wholeColumn(storage, EVERY, { column: 'r', limit: 9 }), [2, 3])
  }),
  storageCase('L4 an empty table has no cells', [MEASURED], async ({ storage }) => {
    assertEqual(await wholeColumn(storage, EVERY, { column: 'n', limit: 5 }), [])
  }),
  storageCase('L5 unknown columns and tables are refused', [MEASURED], async ({ storage }) => {
    await storage.insert('measured', ROWS)
    const page = { shape: 'column', limit: 5 } as const
    await assertRejects(storage.scan('measured', EVERY, { ...page, column: 'none' }), 'internal', 'an unknown column')
    await assertRejects(storage.scan('none', EVERY, { ...page, column: 'n' }), 'internal', 'an unknown table')
  }),
  storageCase(
    'L6 the parts of a column of bytes are its cells and ids, and no memory of stored rows',
    [MEASURED],
    async ({ storage }) => {
      await storage.insert('measured', ROWS)
      await assertBytes(storage)
      await storage.transaction(assertBytes)
      await assertBytes(storage)
    },
  ),
  storageCase('L7 cells of bytes can be long, many, and written in the same transaction', [MEASURED], async ({ storage }) => {
    const rows = Array.from({ length: 500 }, (_, index) => ({ id: index + 1, b: new Uint8Array(index % 7).fill(index) }))
    const long = { id: 501, b: new Uint8Array(100_000).fill(7) }
    const expected = [...rows, long].map(({ id, b }) => [id, b])
    await storage.insert('measured', rows)
    assertEqual(await wholeBytes(storage, EVERY, { limit: 300 }), expected.slice(0, -1))
    await storage.transaction(async (inner) => {
      await inner.insert('measured', [long])
      assertEqual(await wholeBytes(inner, EVERY, { limit: 300 }), expected)
    })
    assertEqual(await wholeBytes(storage, EVERY, { limit: 4096 }), expected)
    assertEqual(await wholeBytes(storage, EVERY, { limit: 4096, after: 499 }), expected.slice(499))
    assertEqual(await wholeBytes(storage, EVERY, { limit: 4096, after: 501 }), [])
  }),
  storageCase('L8 only columns of bytes are read as bytes', [MEASURED], async ({ storage }) => {
    await storage.insert('measured', ROWS)
    const page = { shape: 'bytes', limit: 5 } as const
    for (const column of ['id', 'version', 'n', 'r', 't', 'none']) {
      await assertRejects(storage.scan('measured', EVERY, { ...page, column }), 'internal', `column ${column}`)
    }
    await assertRejects(storage.scan('none', EVERY, { ...page, column: 'b' }), 'internal', 'an unknown table')
  }),
]
