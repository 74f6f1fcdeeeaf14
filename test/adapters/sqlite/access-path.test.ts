/** Filters as they are sent: lists that SQLite runs faster or more exactly as comparisons, and one bound at each side of a column. */
import { describe, expect, it } from 'vitest'
import { toTableShape } from '../../../src/adapters/sql/table-shapes.ts'
import { expandLists, tightened } from '../../../src/adapters/sqlite/access-path.ts'
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

const compare = (column: string, operator: '=' | '<>' | '<' | '>', value: number | string): Filter => ({
  kind: 'compare',
  column,
  operator,
  value,
})
const and = (...filters: readonly Filter[]): Filter => ({ kind: 'and', filters })
const list = (column: string, values: readonly (number | string)[]): Filter => ({ kind: 'in', column, values })

describe('a tightened filter', () => {
  it('keeps the closest bound of each side of each column', () => {
    const given = and(
      compare('a', '>', 3),
      and(compare('a', '>', 7), compare('b', '<', 1)),
      compare('a', '<', 9),
      compare('b', '<', 4),
    )
    expect(tightened(given)).toEqual(and(compare('a', '>', 7), compare('b', '<', 1), compare('a', '<', 9)))
  })

  it('keeps one of equal bounds', () => {
    const filter = tightened(and(compare('a', '>', 3), compare('a', '>', 3)))
    expect(filter).toEqual(and(compare('a', '>', 3)))
  })

  it('lists only what the bounds of the column allow', () => {
    const bounds = [compare('a', '>', 3), compare('a', '<', 9)]
    expect(tightened(and(list('a', [3, 4, 8, 9]), list('b', [1]), ...bounds))).toEqual(
      and(list('a', [4, 8]), list('b', [1]), ...bounds),
    )
    expect(tightened(and(list('a', [1]), ...bounds))).toEqual(and(list('a', []), ...bounds))
  })

  it('is the given one where it has no bounds of numbers, or is no conjunction', () => {
    for (const filter of [
      { kind: 'all' },
      compare('a', '>', 1),
      and(compare('a', '>', 'x'), compare('a', '>', 'y')),
      and(compare('a', '=', 1), compare('a', '<>', 2)),
      { kind: 'or', filters: [compare('a', '>', 1), compare('a', '>', 2)] },
      { kind: 'not', filter: and(compare('a', '>', 1), compare('a', '>', 2)) },
    ] satisfies Filter[])
      expect(tightened(filter)).toBe(filter)
  })
})
