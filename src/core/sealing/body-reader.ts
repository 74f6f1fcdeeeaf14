/** Reads opened bodies: maps where their cells are, by the layout of the last body, by the runs of their own, or by a new layout. */

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
  IS_SHARED,
  LAID_OUT,
  type LastLayout,
  NOTHING,
  readVarint,
  skipCell,
  TOKEN_CHECK_BYTES,
  type UnknownGroup,
  usesRecordCheck,
} from './cell-layout.ts'

/** The offsets of the cells of one body, by ordinal; -1 if there is nothing. One map is reused for many bodies of one buffer. */
export interface CellMap extends CellSpecs {
  /** The bounds of the body. Offsets beyond them are left over from other bodies: clearing so many numbers would cost more than checking those that are read. */
  start: number
  end: number
  /** Five lists of `ordinals` offsets, one after the other: start and end of the value, the token check, start and end of the text of the token. */
  readonly offsets: number[]
  /** Offset of the token check of the record. */
  recordCheck: number
  /** The layout of the body; undefined if it is empty, or was mapped by its runs. */
  layout: BodyLayout | undefined
}

/** Returns an empty map for bodies with these cells. */
export function createCellMap({ ordinals, groupMarks, groupEnds, sizes, gone, noOffsets, last }: CellSpecs): CellMap {
  return {
    ordinals,
    groupMarks,
    groupEnds,
    sizes,
    gone,
    noOffsets,
    last,
    start: 0,
    end: 0,
    offsets: noOffsets.slice(),
    recordCheck: NOTHING,
    layout: undefined,
  }
}

/** Cells of columns that this process does not know, with their contents, one after the other. */
export interface UnknownCells {
  readonly group: UnknownGroup
  readonly content: Uint8Array
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
  if (start >= end) return true
  if (bytes[start] !== LAID_OUT) return false
  const { last } = map
  let current = last.layout
  if (current === undefined || !hasLayout(bytes, start, end, current)) {
    const runs = findRuns(bytes, start, map, RUNS)
    if (runs.end > 0 && !isRepeated(last, runs.hash)) return mapRuns(bytes, start, map, runs)
    current = readLayout(bytes, start, end, map)
    if (current === undefined) return false
    last.layout = current
  }
  last.misses = 0
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

/** The runs of one layout. Holds nothing between calls. */
const RUNS: LayoutRuns = { end: 0, hasShared: false, hash: 0 }

/** So many bodies in a row have one layout that is not the kept one: then it is kept in its place. */
const MISSES_TO_KEEP = 4

/** Counts a layout that is not the kept one. Returns true if those before it were equal, so that it is worth keeping. */
function isRepeated(last: LastLayout, hash: number): boolean {
  last.misses = last.misses > 0 && last.missed === hash ? last.misses + 1 : 1
  last.missed = hash
  return last.misses >= MISSES_TO_KEEP
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

/** Returns the bits of the cell of a column; 0 if there is no cell. */
export function bitsOf(map: CellMap, ordinal: number): number {
  const value = valueStart(map, ordinal) < 0 ? 0 : HAS_VALUE
  if (textStart(map, ordinal) >= 0) return value | HAS_CHECK | IS_SHARED
  const check = checkStart(map, ordinal)
  if (check < 0) return value
  return value | (check === map.recordCheck ? IS_SHARED : HAS_CHECK)
}

/** Returns the cells of unknown columns, by rising ordinal: another process may have opened the vault with a newer schema. */
export function unknownCells(bytes: Uint8Array, map: CellMap): readonly UnknownCells[] {
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

/** What is known of a layout after one look at it. */
export interface LayoutRuns {
  /** The offset after the layout; 0 if `readLayout` must read it: it is no layout, or has cells of unknown columns, or a wrong mark. */
  end: number
  /** True if a cell uses the token check of the record. */
  hasShared: boolean
  /** A hash of its heads. Layouts of known columns with equal ones are usually equal. */
  hash: number
}

/** Looks at the layout that begins at `start`. Fills and returns `runs`. */
function findRuns(bytes: Uint8Array, start: number, { end, ordinals, groupMarks }: CellMap, runs: LayoutRuns): LayoutRuns {
  runs.end = 0
  runs.hasShared = false
  runs.hash = 0
  let ordinal = 0
  let hasCells = false
  for (let next = start + 1; next < end; ) {
    let head = bytes[next++] ?? 0
    if (head > 0x7f) [head, next] = readVarint(bytes, next - 1)
    runs.hash = Math.imul(runs.hash ^ head, 0x01000193)
    const bits = head & CELL_MASK
    if (head !== bits) {
      ordinal += head >>> CELL_BITS
      if (ordinal > ordinals) return runs
      hasCells ||= bits !== 0
      runs.hasShared ||= usesRecordCheck(bits)
      continue
    }
    if (!hasCells || bits > IS_LAST || next + GROUP_MARK_BYTES > end) return runs
    if ((readU32(bytes, next) | 0) !== groupMarks[ordinal]) return runs
    next += GROUP_MARK_BYTES
    hasCells = false
    if (bits !== IS_LAST) continue
    runs.end = next
    return runs
  }
  return runs
}

/** Maps the contents of a body with this layout. Returns false if they do not fit. */
function mapRuns(bytes: Uint8Array, start: number, map: CellMap, { end, hasShared }: LayoutRuns): boolean {
  let next = end
  if (hasShared) {
    map.recordCheck = next
    next += TOKEN_CHECK_BYTES
  }
  let ordinal = 0
  for (let at = start + 1; at < end; ) {
    let head = bytes[at++] ?? 0
    if (head > 0x7f) [head, at] = readVarint(bytes, at - 1)
    const bits = head & CELL_MASK
    if (head === bits) at += GROUP_MARK_BYTES
    const after = ordinal + (head >>> CELL_BITS)
    if (bits !== 0 && head !== bits) {
      for (; ordinal < after; ordinal++) {
        next = mapContent(bytes, next, map, (ordinal << CELL_BITS) | bits)
        if (next < 0) return false
      }
    }
    ordinal = after
  }
  return next === map.end
}

/** Maps the content of one cell of a known column. Returns the offset after it, -1 if the length of its value differs. */
function mapContent(bytes: Uint8Array, from: number, { ordinals, offsets, sizes, recordCheck }: CellMap, cell: number): number {
  const ordinal = cell >>> CELL_BITS
  const placement = cell & (HAS_CHECK | IS_SHARED)
  let next = from
  let size = 0
  if (placement === IS_SHARED) offsets[2 * ordinals + ordinal] = recordCheck
  else if (placement === HAS_CHECK) {
    offsets[2 * ordinals + ordinal] = next
    next += TOKEN_CHECK_BYTES
  } else if (placement !== 0) {
    size = bytes[next++] ?? 0
    if (size > 0x7f) [size, next] = readVarint(bytes, next - 1)
    offsets[3 * ordinals + ordinal] = next
    next += size
    offsets[4 * ordinals + ordinal] = next
  }
  if ((cell & HAS_VALUE) === 0) return next
  // A byte beyond the end reads as another body's: the value then ends beyond the end too.
  size = bytes[next++] ?? 0
  if (size > 0x7f) [size, next] = readVarint(bytes, next - 1)
  const fixed = sizes[ordinal] ?? NOTHING
  if (fixed >= 0 && fixed !== size) return NOTHING
  offsets[ordinal] = next
  next += size
  offsets[ordinals + ordinal] = next
  return next
}

/** More columns than a table can have. */
const MAX_ORDINALS = 0x1_0000

/**
 * Returns the layout that begins at `start`; undefined if these bytes are not a layout, if a mark differs from that of its columns, or if a
 * group has cells of known and of unknown columns.
 */
function readLayout(bytes: Uint8Array, start: number, end: number, specs: CellSpecs): BodyLayout | undefined {
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
