/** Merges the aggregates of two pieces of a scan. */
import type { Aggregate, Cell } from '../../core/ports/storage.ts'
import { unreachable } from '../../core/util/causes.ts'
import { toIntegerCell } from '../sql/stored-cells.ts'

/** The cells of two pieces as the cells of both. */
export function mergeAggregates(
  aggregates: readonly Aggregate[],
  left: readonly Cell[],
  right: readonly Cell[],
): readonly Cell[] {
  return aggregates.map(({ kind }, at) => mergeCells(kind, left[at] ?? null, right[at] ?? null))
}

function mergeCells(kind: Aggregate['kind'], left: Cell, right: Cell): Cell {
  if (left === null) return right
  if (right === null) return left
  switch (kind) {
    case 'count':
      return Number(left) + Number(right)
    case 'sum':
      return toIntegerCell(BigInt(String(left)) + BigInt(String(right)))
    case 'min':
      return compareCells(left, right) <= 0 ? left : right
    case 'max':
      return compareCells(left, right) >= 0 ? left : right
    default:
      return unreachable(kind)
  }
}

/** Text by its UTF-8 bytes, as SQLite compares it, which is by code point. */
function compareCells(left: Exclude<Cell, null>, right: Exclude<Cell, null>): number {
  if (isBytewise(left) || isBytewise(right)) return Buffer.compare(toBytes(left), toBytes(right))
  // Comparing a number with a bigint is exact.
  return left < right ? -1 : left > right ? 1 : 0
}

function isBytewise(cell: Exclude<Cell, null>): cell is string | Uint8Array {
  return typeof cell === 'string' || cell instanceof Uint8Array
}

function toBytes(cell: Exclude<Cell, null>): Uint8Array {
  return cell instanceof Uint8Array ? cell : Buffer.from(String(cell))
}
