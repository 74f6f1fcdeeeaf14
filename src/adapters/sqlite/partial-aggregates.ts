/** Aggregates computed in slices: what to compute for each slice, how to merge slices, and the result. */
import type { Aggregate, Cell, PhysicalType } from '../../core/ports/storage.ts'
import { unreachable } from '../../core/util/unreachable.ts'
import { toIntegerCell } from '../sql/stored-cells.ts'
import { columnType, type TableShape } from '../sql/table-shapes.ts'

/** An aggregate whose parts add up. */
export interface PartialAggregate {
  readonly kind: 'count' | 'sum' | 'min' | 'max'
  readonly column?: string
  readonly type: PhysicalType
}

/** Every aggregate as it is, a mean as sum and count. What several aggregates need is computed once. */
export function partialAggregates(aggregates: readonly Aggregate[], shape: TableShape): readonly PartialAggregate[] {
  const parts: PartialAggregate[] = []
  for (const { kind, column } of aggregates) {
    for (const part of partsOf(kind)) {
      if (positionOf(parts, part, column) >= 0) continue
      parts.push(column === undefined ? { kind: part, type: 'integer' } : { kind: part, column, type: columnType(shape, column) })
    }
  }
  return parts
}

function partsOf(kind: Aggregate['kind']): readonly PartialAggregate['kind'][] {
  return kind === 'avg' ? ['sum', 'count'] : [kind]
}

function positionOf(parts: readonly PartialAggregate[], kind: PartialAggregate['kind'], column: string | undefined): number {
  return parts.findIndex((part) => part.kind === kind && part.column === column)
}

/** The cells of two pieces as the cells of both. */
export function mergeParts(parts: readonly PartialAggregate[], left: readonly Cell[], right: readonly Cell[]): readonly Cell[] {
  return parts.map((part, at) => mergeCells(part, left[at] ?? null, right[at] ?? null))
}

function mergeCells({ kind, type }: PartialAggregate, left: Cell, right: Cell): Cell {
  if (left === null) return right
  if (right === null) return left
  switch (kind) {
    case 'count':
      return Number(left) + Number(right)
    case 'sum':
      return type === 'integer' ? toIntegerCell(BigInt(String(left)) + BigInt(String(right))) : Number(left) + Number(right)
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

/** One cell per aggregate from the cells of its parts. */
export function wholeAggregates(
  aggregates: readonly Aggregate[],
  parts: readonly PartialAggregate[],
  cells: readonly Cell[],
): readonly Cell[] {
  return aggregates.map(({ kind, column }) => {
    const [cell = null, count] = partsOf(kind).map((part) => cells[positionOf(parts, part, column)])
    return cell === null || count === undefined ? cell : Number(cell) / Number(count)
  })
}
