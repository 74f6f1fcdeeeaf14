/** Finds the cells of opened bodies: the offsets of their values, token checks and texts, by ordinal. */
import { type BodyLayout, readLayout, type UnknownGroup } from './body-layout.ts'
import {
  CELL_BITS,
  CELL_MASK,
  type CellSpecs,
  HAS_CHECK,
  HAS_VALUE,
  IS_SHARED,
  LAID_OUT,
  NOTHING,
  readVarint,
  skipCell,
  TOKEN_CHECK_BYTES,
} from './cell-layout.ts'
import { mapOlderCells, olderUnknownCells } from './older-cells.ts'

/** The offsets of the cells of one body, by ordinal; -1 if there is nothing. One map is reused for many bodies of one buffer. */
export interface CellMap extends CellSpecs {
  /** The bounds of the body. Offsets beyond them are left over from other bodies: clearing so many numbers would cost more than checking those that are read. */
  start: number
  end: number
  /** Five lists of `ordinals` offsets, one after the other: start and end of the value, the token check, start and end of the text of the token. */
  readonly offsets: number[]
  /** Offset of the token check of the record. */
  recordCheck: number
  /** The layout of the body; undefined if it is empty or has the older one. */
  layout: BodyLayout | undefined
  /** Offsets of the cells of unknown columns, in a body of the older layout. */
  readonly olderUnknown: number[]
}

/** Returns an empty map for bodies with these cells. */
export function createCellMap({ ordinals, cellMarks, groupMarks, groupEnds, sizes, last }: CellSpecs): CellMap {
  return {
    ordinals,
    cellMarks,
    groupMarks,
    groupEnds,
    sizes,
    last,
    start: 0,
    end: 0,
    offsets: new Array<number>(5 * ordinals).fill(NOTHING),
    recordCheck: NOTHING,
    layout: undefined,
    olderUnknown: [],
  }
}

/** The offset in one of the lists; -1 if the body has nothing there. What a cell has is after a head, and so never at the start of a body. */
function offsetAt({ offsets, start, end }: CellMap, index: number): number {
  const offset = offsets[index] ?? NOTHING
  return offset > start && offset <= end ? offset : NOTHING
}

/** Returns the offset of the value of a column, -1 if the record has none. `ordinal` is below `map.ordinals`, here and below. */
export function valueStart(map: CellMap, ordinal: number): number {
  return offsetAt(map, ordinal)
}

/** Returns the offset after the value of a column, -1 if it has none. */
export function valueEnd(map: CellMap, ordinal: number): number {
  return offsetAt(map, map.ordinals + ordinal)
}

/** Returns the offset of the token check of a column, -1 if it has none. */
export function checkStart(map: CellMap, ordinal: number): number {
  if (map.layout?.isShared[ordinal] === 1) return map.recordCheck
  return offsetAt(map, 2 * map.ordinals + ordinal)
}

/** Returns the offset of the text of the token of a column, -1 if it has none. */
export function textStart(map: CellMap, ordinal: number): number {
  return offsetAt(map, 3 * map.ordinals + ordinal)
}

/** Returns the offset after the text of the token of a column, -1 if it has none. */
export function textEnd(map: CellMap, ordinal: number): number {
  return offsetAt(map, 4 * map.ordinals + ordinal)
}

/**
 * Fills the map from `bytes[start .. end)`. Skips ordinals above the map. Returns false if the bytes are not the cells of a body, or if a
 * mark or the length of a value differs from its spec.
 */
export function mapCells(bytes: Uint8Array, start: number, end: number, map: CellMap): boolean {
  map.start = start
  map.end = end
  map.recordCheck = NOTHING
  map.layout = undefined
  if (bytes[start] !== LAID_OUT || start >= end) return mapOlderCells(bytes, start, end, map)
  const { layout } = map.last
  const current = layout !== undefined && hasLayout(bytes, start, end, layout) ? layout : readLayout(bytes, start, end, map)
  if (current === undefined) return false
  map.last.layout = current
  map.layout = current
  let next = start + current.bytes.length
  if (current.hasShared) {
    map.recordCheck = next
    next += TOKEN_CHECK_BYTES
  }
  const { valueOrdinals } = current
  if (valueOrdinals === undefined) return mapLaidOut(bytes, next, map, current.cells)
  return mapValues(bytes, next, map, valueOrdinals)
}

/** True if a body begins with a layout. No layout is the beginning of another one. */
function hasLayout(bytes: Uint8Array, start: number, end: number, { bytes: layout }: BodyLayout): boolean {
  const { length } = layout
  if (start + length > end) return false
  for (let i = 1; i < length; i++) if (bytes[start + i] !== layout[i]) return false
  return true
}

/** Maps contents that are values of known columns, one after the other. */
function mapValues(bytes: Uint8Array, from: number, { ordinals, offsets, sizes, end }: CellMap, columns: Int32Array): boolean {
  let next = from
  for (let i = 0; i < columns.length; i++) {
    const ordinal = columns[i] ?? 0
    // A byte beyond the end reads as another body's: the value then ends beyond the end too.
    let size = bytes[next++] ?? 0
    if (size > 0x7f) [size, next] = readVarint(bytes, next - 1)
    const fixed = sizes[ordinal] ?? NOTHING
    if (fixed >= 0 && fixed !== size) return false
    offsets[ordinal] = next
    next += size
    offsets[ordinals + ordinal] = next
  }
  return next === end
}

/** Maps the contents of any cells. */
function mapLaidOut(bytes: Uint8Array, from: number, map: CellMap, cells: readonly number[]): boolean {
  let next = from
  for (const cell of cells) {
    const ordinal = cell >>> CELL_BITS
    next = ordinal < map.ordinals ? mapContent(bytes, next, map, cell) : skipCell(bytes, next, cell)
    if (next < 0) return false
  }
  return next === map.end
}

/** Maps the content of one cell of a known column. Returns the offset after it, -1 if the length of its value differs. */
export function mapContent(bytes: Uint8Array, from: number, { ordinals, offsets, sizes }: CellMap, cell: number): number {
  const ordinal = cell >>> CELL_BITS
  const placement = cell & (HAS_CHECK | IS_SHARED)
  let next = from
  if (placement === HAS_CHECK) {
    offsets[2 * ordinals + ordinal] = next
    next += TOKEN_CHECK_BYTES
  } else if (placement === (HAS_CHECK | IS_SHARED)) {
    const [size, start] = readVarint(bytes, next)
    offsets[3 * ordinals + ordinal] = start
    next = start + size
    offsets[4 * ordinals + ordinal] = next
  }
  if ((cell & HAS_VALUE) === 0) return next
  const [size, start] = readVarint(bytes, next)
  const fixed = sizes[ordinal] ?? NOTHING
  if (fixed >= 0 && fixed !== size) return NOTHING
  offsets[ordinal] = start
  offsets[ordinals + ordinal] = start + size
  return start + size
}

/** Returns the bits of the cell of a column, in the layout of cell-layout.ts; 0 if there is no cell. */
export function bitsOf(map: CellMap, ordinal: number): number {
  const value = valueStart(map, ordinal) < 0 ? 0 : HAS_VALUE
  if (textStart(map, ordinal) >= 0) return value | HAS_CHECK | IS_SHARED
  const check = checkStart(map, ordinal)
  if (check < 0) return value
  return value | (check === map.recordCheck ? IS_SHARED : HAS_CHECK)
}

/** Cells of columns that this process does not know, with their contents, one after the other. */
export interface UnknownCells {
  readonly group: UnknownGroup
  readonly content: Uint8Array
}

/** Returns the cells of unknown columns, by rising ordinal: another process may have opened the vault with a newer schema. */
export function unknownCells(bytes: Uint8Array, map: CellMap): readonly UnknownCells[] {
  if (map.olderUnknown.length > 0) return olderUnknownCells(bytes, map)
  if (map.layout === undefined || map.layout.unknown.length === 0) return []
  let next = map.start + map.layout.bytes.length + (map.layout.hasShared ? TOKEN_CHECK_BYTES : 0)
  for (const cell of map.layout.cells) {
    if (cell >>> CELL_BITS < map.ordinals) next = skipCell(bytes, next, cell & CELL_MASK)
  }
  return map.layout.unknown.map((group) => {
    const start = next
    for (const cell of group.cells) next = skipCell(bytes, next, cell & CELL_MASK)
    return { group, content: bytes.slice(start, next) }
  })
}
