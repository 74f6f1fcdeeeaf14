/** Finds the cells of opened bodies. */
import { readLayout } from './body-layout.ts'
import {
  type BodyLayout,
  CELL_BITS,
  CELL_MASK,
  HAS_CHECK,
  HAS_VALUE,
  IS_SHARED,
  LAID_OUT,
  type LastLayout,
  NOTHING,
  readVarint,
  skipCell,
  TOKEN_CHECK_BYTES,
} from './cell-layout.ts'
import { type CellMap, checkStart, textStart, type UnknownCells, valueStart } from './cell-offsets.ts'
import { findRuns, type LayoutRuns, mapContent, mapRuns } from './layout-runs.ts'

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
