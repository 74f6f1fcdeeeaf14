/** Counts, exact sums, minima and maxima over rows. Nulls are ignored. */

import { VaultError } from '../../core/errors.ts'
import type { Aggregate, Cell, PhysicalType } from '../../core/ports/storage.ts'
import { unreachable } from '../../core/util/causes.ts'
import { columnNamed, type MemoryTable } from './memory-table.ts'
import { compareCells, type StoredRow, smallest } from './stored-cell.ts'

type Present = Exclude<Cell, null>

/** One cell per aggregate. */
export function aggregateRows(table: MemoryTable, rows: readonly StoredRow[], aggregates: readonly Aggregate[]): readonly Cell[] {
  return aggregates.map(({ kind, column }) => {
    if (column === undefined && kind === 'count') return rows.length
    const { name, type } = columnNamed(table, column ?? '')
    const cells = rows.flatMap((row) => row[name] ?? [])
    if (kind === 'count') return cells.length
    if (kind === 'sum') assertSummable(type)
    if (cells.length === 0) return null
    switch (kind) {
      case 'sum':
        return sum(cells)
      case 'min':
        return extreme(cells, -1)
      case 'max':
        return extreme(cells, 1)
      default:
        return unreachable(kind)
    }
  })
}

function assertSummable(type: PhysicalType): void {
  if (type !== 'integer') throw new VaultError('internal', `A column of type ${type} has no sum. Use count, min or max.`)
}

function sum(cells: readonly Present[]): number | bigint {
  return smallest(cells.reduce<bigint>((total, cell) => total + BigInt(toInteger(cell)), 0n))
}

function toInteger(cell: Present): number | bigint {
  if (typeof cell === 'number' || typeof cell === 'bigint') return cell
  throw new VaultError('internal', 'An integer column has a cell that is not a number. This is a defect; please report it.')
}

function extreme(cells: readonly Present[], sign: 1 | -1): Cell {
  const found = cells.reduce((best, cell) => (compareCells(cell, best) * sign > 0 ? cell : best))
  return found instanceof Uint8Array ? new Uint8Array(found) : found
}
