/** Reads the layout of a body: which cells it has, in the order of their contents, and whether their marks are those of the columns. */
import { readU32 } from '../util/bytes.ts'
import {
  type BodyLayout,
  CELL_BITS,
  CELL_MASK,
  type CellSpecs,
  GROUP_MARK_BYTES,
  HAS_CHECK,
  HAS_VALUE,
  IS_LAST,
  readVarint,
  type UnknownGroup,
  usesRecordCheck,
} from './cell-layout.ts'

/** More columns than a table can have. */
const MAX_ORDINALS = 0x1_0000

/**
 * Returns the layout that begins at `start`; undefined if these bytes are not a layout, if a mark differs from that of its columns, or if a
 * group has cells of known and of unknown columns.
 */
export function readLayout(bytes: Uint8Array, start: number, end: number, specs: CellSpecs): BodyLayout | undefined {
  const cells: number[] = []
  const unknown: UnknownGroup[] = []
  let ordinal = 0
  let first = 0
  for (let next = start + 1; next < end; ) {
    const [head, after] = readVarint(bytes, next)
    const bits = head & CELL_MASK
    next = after
    if (head !== bits) {
      ordinal = addCells(cells, ordinal, head)
      continue
    }
    next += GROUP_MARK_BYTES
    const group = { end: ordinal, cells: cells.slice(first), mark: bytes.slice(after, next) }
    if (next > end || bits > IS_LAST || group.cells.length === 0) return undefined
    if (isUnknown(group, specs)) unknown.push(group)
    else if (!isMarked(group, specs)) return undefined
    first = cells.length
    if ((bits & IS_LAST) !== 0) return toLayout(bytes.slice(start, next), cells, unknown, specs)
  }
  return undefined
}

/** Adds the cells of a head for columns from `ordinal`, and returns the ordinal after them. Counts that no table has are cut: the marks then differ. */
function addCells(cells: number[], ordinal: number, head: number): number {
  const end = Math.min(ordinal + (head >>> CELL_BITS), MAX_ORDINALS)
  const bits = head & CELL_MASK
  if (bits !== 0) for (let next = ordinal; next < end; next++) cells.push((next << CELL_BITS) | bits)
  return end
}

/** True if all cells of a group are of columns that this process does not know. */
function isUnknown({ cells }: UnknownGroup, { ordinals }: CellSpecs): boolean {
  return (cells[0] ?? 0) >>> CELL_BITS >= ordinals
}

/** True if all columns of a group are known, and its mark is theirs. */
function isMarked({ end, mark }: UnknownGroup, { ordinals, groupMarks }: CellSpecs): boolean {
  return end <= ordinals && (readU32(mark, 0) | 0) === groupMarks[end]
}

function toLayout(
  bytes: Uint8Array,
  cells: readonly number[],
  unknown: readonly UnknownGroup[],
  { ordinals }: CellSpecs,
): BodyLayout {
  const isShared = new Uint8Array(ordinals)
  let hasShared = false
  let hasOnlyValues = unknown.length === 0
  for (const cell of cells) {
    const shares = usesRecordCheck(cell)
    if (shares) isShared[cell >>> CELL_BITS] = 1
    hasShared ||= shares
    hasOnlyValues &&= (cell & (HAS_CHECK | HAS_VALUE)) === HAS_VALUE
  }
  const valueOrdinals = hasOnlyValues ? Int32Array.from(cells, (cell) => cell >>> CELL_BITS) : undefined
  return { bytes, cells, hasShared, isShared, valueOrdinals, unknown }
}
