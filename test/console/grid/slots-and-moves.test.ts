/** Rows in their elements, the current row always among them; moves by key; positions beyond what a browser lays out. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type CellPosition, clampCell, moveCell, scrollToRow } from '../../../src/console/ui/grid/moves.ts'
import { scaleOf } from '../../../src/console/ui/grid/scale.ts'
import { createSlots, drawnRows } from '../../../src/console/ui/grid/slots.ts'

const range = fc.record({ first: fc.nat(500), length: fc.nat(40), current: fc.nat(600) })

it('draws a range and the current row, each once, and a row that stays keeps its element', () => {
  fc.assert(
    fc.property(fc.array(range, { minLength: 2, maxLength: 20 }), (ranges) => {
      const assign = createSlots()
      let before = new Map<number, number>()
      for (const { first, length, current } of ranges) {
        const rows = drawnRows(first, first + length, current)
        expect(rows).toContain(current)
        expect(rows.length).toBe(length + 1 + (current < first || current > first + length ? 1 : 0))
        const slots = assign(rows)
        expect(slots.map(({ row }) => row).toSorted((a, b) => a - b)).toEqual(rows)
        expect(new Set(slots.map(({ slot }) => slot)).size).toBe(rows.length)
        for (const { row, slot } of slots) if (before.has(row)) expect(slot).toBe(before.get(row))
        before = new Map(slots.map(({ row, slot }) => [row, slot]))
      }
    }),
    { seed: 37, numRuns: 200 },
  )
})

it('makes no new element for a scroll by one row', () => {
  const assign = createSlots()
  const first = assign(drawnRows(0, 30, 0)).map(({ slot }) => slot)
  for (let row = 1; row < 200; row++) expect(assign(drawnRows(row, row + 30, row + 2)).map(({ slot }) => slot)).toEqual(first)
})

const EXTENT = { rows: 100, columns: 4, page: 10 }
const at = (row: number, column: number): CellPosition => ({ row, column })
const press = (key: string, held: 'ctrlKey' | 'metaKey' | 'altKey' | 'none' = 'none') => ({
  key,
  ctrlKey: held === 'ctrlKey',
  metaKey: held === 'metaKey',
  altKey: held === 'altKey',
})

it.each([
  ['ArrowDown', 'none', at(6, 2)],
  ['ArrowUp', 'none', at(4, 2)],
  ['ArrowLeft', 'none', at(5, 1)],
  ['ArrowRight', 'none', at(5, 3)],
  ['PageDown', 'none', at(15, 2)],
  ['PageUp', 'none', at(0, 2)],
  ['Home', 'none', at(5, 0)],
  ['End', 'none', at(5, 3)],
  ['Home', 'ctrlKey', at(0, 0)],
  ['End', 'metaKey', at(99, 3)],
  ['ArrowDown', 'ctrlKey', undefined],
  ['ArrowLeft', 'altKey', undefined],
  ['a', 'none', undefined],
  ['constructor', 'none', undefined],
] as const)('moves by %s with %s', (key, held, to) => {
  expect(moveCell(at(5, 2), press(key, held), EXTENT)).toEqual(to)
})

it('stays inside the grid, also an empty one', () => {
  expect(moveCell(at(99, 3), press('PageDown'), EXTENT)).toEqual(at(99, 3))
  expect(moveCell(at(0, 0), press('ArrowLeft'), EXTENT)).toEqual(at(0, 0))
  expect(clampCell(at(7, 9), { rows: 0, columns: 1 })).toEqual(at(0, 0))
})

it('scrolls as little as shows a row', () => {
  const window = { position: 340, view: 340 }
  expect([5, 10, 19, 20, 25].map((row) => scrollToRow(row, 34, window))).toEqual([170, 340, 340, 374, 544])
})

it('reaches the first and the last row beyond the height of a browser, and every position between', () => {
  const small = scaleOf(34 * 100_000, 700)
  expect([small.height, small.toDrawn(1234), small.toRows(1234)]).toEqual([3_400_000, 1234, 1234])
  const total = 34 * 2_000_000
  const { height, toDrawn, toRows } = scaleOf(total, 700)
  expect(height).toBe(16_000_000)
  expect(toRows(0)).toBe(0)
  expect(toRows(height - 700)).toBeCloseTo(total - 700)
  for (let position = 0; position < total; position += 987_654) expect(toRows(toDrawn(position))).toBeCloseTo(position)
})
