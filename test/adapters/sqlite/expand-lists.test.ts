/** Lists expanded to comparisons find the same rows, and only lists that become faster are expanded. */
import { describe, expect, it } from 'vitest'
import { toTableShape } from '../../../src/adapters/sql/table-shapes.ts'
import { expandLists } from '../../../src/adapters/sqlite/expand-lists.ts'
import { sqliteStorage } from '../../../src/adapters/sqlite/index.ts'
import type { Cell, Filter, PhysicalTable } from '../../../src/core/ports/storage.ts'
import { temporaryFolder } from './temporary-folder.ts'

const nextFile = temporaryFolder()

const MIXED: PhysicalTable = {
  name: 'mixed',
  columns: [
    { name: 'n', type: 'integer' },
    { name: 'r', type: 'real' },
    { name: 't', type: 'text' },
    { name: 'b', type: 'bytes' },
  ],
  indexes: [{ columns: ['t'], unique: false }],
}

const shape = toTableShape(MIXED)
const among = (column: string, ...values: Exclude<Cell, null>[]): Filter => ({ kind: 'in', column, values })
const equal = (column: string, value: Exclude<Cell, null>): Filter => ({ kind: 'compare', column, operator: '=', value })

describe('lists', () => {
  it('of one value and lists over real columns become comparisons, at any depth', () => {
    expect(expandLists(shape, among('t', 'x'))).toEqual(equal('t', 'x'))
    expect(expandLists(shape, { kind: 'not', filter: { kind: 'and', filters: [among('b', new Uint8Array([1]))] } })).toEqual({
      kind: 'not',
      filter: { kind: 'and', filters: [equal('b', new Uint8Array([1]))] },
    })
    expect(expandLists(shape, among('r', 0.1, 0.2))).toEqual({ kind: 'or', filters: [equal('r', 0.1), equal('r', 0.2)] })
    for (const filter of [among('t', 'x', 'y'), among('t'), { kind: 'all' } as const]) {
      expect(expandLists(shape, filter)).toBe(filter)
    }
  })

  it('of one value find the same rows as longer lists and comparisons, for every column type', async () => {
    const storage = sqliteStorage({ filename: nextFile() })
    await storage.prepare([MIXED])
    const cells: Record<string, readonly Exclude<Cell, null>[]> = {
      n: [0, -5, 2 ** 53 - 1, 2n ** 63n - 1n, -(2n ** 63n)],
      r: [0.1, -1e300, 5e-324],
      t: ['', 'a\0b', '😀', "it's", '5'],
      b: [new Uint8Array(0), new Uint8Array([0]), new Uint8Array([255, 0])],
    }
    let id = 0
    for (const [column, values] of Object.entries(cells)) {
      await storage.insert(
        'mixed',
        values.map((value) => ({ id: ++id, [column]: value })),
      )
    }
    const idsOf = async (filter: Filter) => (await storage.find('mixed', filter, { order: 'asc', limit: 9 })).map((row) => row.id)
    let expected = 0
    for (const [column, values] of Object.entries(cells)) {
      for (const value of values) {
        expected++
        const filters = [among(column, value), among(column, value, value), equal(column, value)]
        expect(await Promise.all(filters.map(idsOf))).toEqual([[expected], [expected], [expected]])
      }
      const last = Array.from(values, (_, index) => expected - values.length + 1 + index)
      expect(await idsOf(among(column, ...values))).toEqual(last)
    }
    expect(await idsOf(among('b', ...Array.from({ length: 256 }, (_, byte) => new Uint8Array([byte]))))).toEqual([15])
    await expect(idsOf(among('b', new Uint8Array(1), 'text'))).rejects.toMatchObject({ code: 'internal' })
    await storage.close()
  })
})
