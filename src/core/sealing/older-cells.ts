/** Finds the cells of bodies of the older layout, in which each cell has a head and a mark. No body is written in it: one that changes gets the layout of cell-layout.ts. */
import { readCellMark } from './body-layout.ts'
import {
  CELL_BITS,
  CELL_MARK_BYTES,
  CELL_MASK,
  HAS_CHECK,
  HAS_VALUE,
  IS_SHARED,
  NOTHING,
  readVarint,
  skipCell,
  TOKEN_CHECK_BYTES,
  usesRecordCheck,
} from './cell-layout.ts'
import type { CellMap, UnknownCells } from './cell-offsets.ts'

/*
 * A body of the older layout is a sequence of cells, in any order. A cell has these parts:
 * - The head: varint (slot << CELL_BITS | bits). Slot 0 is the token check of the record, and slot n + 1 is the column of ordinal n.
 * - The mark of the column, 3 bytes. Slot 0 has none.
 * - The content of the cell, as in cell-layout.ts.
 * The token check of the record is the first cell, if there is one.
 */

/** `mapCells` for a body of the older layout. */
export function mapOlderCells(bytes: Uint8Array, start: number, end: number, map: CellMap): boolean {
  let next = start
  if (next < end && bytes[next] === HAS_CHECK) {
    map.recordCheck = start + 1
    next = start + 1 + TOKEN_CHECK_BYTES
  }
  while (next < end) {
    const head = bytes[next] ?? 0
    next = (head & USUAL_MASK) === HAS_VALUE ? mapUsualCell(bytes, next, map) : mapCell(bytes, next, map)
  }
  return next === end
}

/** The bits of a head of one byte that say of a cell that it has a value and no token check of its own. */
const USUAL_MASK = 0x80 | HAS_CHECK | HAS_VALUE

/** As `mapCell`, for nearly all cells: of a known column, with a value of fewer than 128 bytes. */
function mapUsualCell(bytes: Uint8Array, from: number, map: CellMap): number {
  const { ordinals, offsets, cellMarks, sizes } = map
  const head = bytes[from] ?? 0
  const ordinal = (head >>> CELL_BITS) - 1
  const size = bytes[from + 1 + CELL_MARK_BYTES] ?? 0x80
  if (ordinal < 0 || ordinal >= ordinals || size > 0x7f) return mapCell(bytes, from, map)
  const start = from + CELL_MARK_BYTES + 2
  const fixed = sizes[ordinal] ?? NOTHING
  if (readCellMark(bytes, from + 1) !== cellMarks[ordinal] || (fixed >= 0 && fixed !== size)) return BEYOND
  if ((head & IS_SHARED) !== 0) offsets[2 * ordinals + ordinal] = map.recordCheck
  offsets[ordinal] = start
  offsets[ordinals + ordinal] = start + size
  return start + size
}

/** Beyond the end of every body: the offset after a cell that differs from its spec. */
const BEYOND = 0x3fff_ffff

/** Maps the cell at offset `from`. Returns the offset of the next cell, beyond the end if the cell is cut off or differs from its spec. */
function mapCell(bytes: Uint8Array, from: number, map: CellMap): number {
  const { ordinals, offsets, cellMarks, sizes } = map
  let head = bytes[from] ?? 0
  let markAt = from + 1
  if (head > 0x7f) [head, markAt] = readVarint(bytes, from)
  const ordinal = (head >>> CELL_BITS) - 1
  // The token check of the record is first, and no other cell has its slot.
  if (ordinal < 0) return BEYOND
  const content = markAt + CELL_MARK_BYTES
  if (ordinal >= ordinals) {
    map.olderUnknown.push(from)
    return skipCell(bytes, content, head)
  }
  if (readCellMark(bytes, markAt) !== cellMarks[ordinal]) return BEYOND
  const placement = head & (HAS_CHECK | IS_SHARED)
  let next = content
  if (placement === HAS_CHECK) {
    offsets[2 * ordinals + ordinal] = next
    next += TOKEN_CHECK_BYTES
  } else if (placement === IS_SHARED) offsets[2 * ordinals + ordinal] = map.recordCheck
  else if (placement !== 0) next = mapBytes(bytes, next, map, 3 * ordinals + ordinal)
  if ((head & HAS_VALUE) === 0) return next
  const end = mapBytes(bytes, next, map, ordinal)
  const fixed = sizes[ordinal] ?? NOTHING
  return fixed >= 0 && end - (offsets[ordinal] ?? 0) !== fixed ? BEYOND : end
}

/** Maps the varint length and bytes at `from`: stores their start at index `slot` and their end one list later. Returns the next offset. */
function mapBytes(bytes: Uint8Array, from: number, { ordinals, offsets }: CellMap, slot: number): number {
  const [size, start] = readVarint(bytes, from)
  offsets[slot] = start
  offsets[slot + ordinals] = start + size
  return start + size
}

/** Returns the cells of unknown columns in a mapped body, each as a group of its own, which keeps its mark. */
export function olderUnknownCells(bytes: Uint8Array, { olderUnknown, recordCheck }: CellMap): UnknownCells[] {
  const cells = olderUnknown.map((from): UnknownCells => {
    const [head, markAt] = readVarint(bytes, from)
    const content = markAt + CELL_MARK_BYTES
    const end = head >>> CELL_BITS
    const sharesNothing = recordCheck < 0 && usesRecordCheck(head)
    const bits = head & CELL_MASK & (sharesNothing ? ~IS_SHARED : CELL_MASK)
    const group = { end, cells: [((end - 1) << CELL_BITS) | bits], mark: bytes.slice(markAt, content) }
    return { group, content: bytes.slice(content, skipCell(bytes, content, bits)) }
  })
  return cells.sort((left, right) => left.group.end - right.group.end)
}
