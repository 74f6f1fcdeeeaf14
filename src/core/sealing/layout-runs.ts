/** Maps a body by the runs of its layout, without keeping the layout: most bodies of a table with many nulls have another one than the body before. */
import { readU32 } from '../util/bytes.ts'
import {
  CELL_BITS,
  CELL_MASK,
  GROUP_MARK_BYTES,
  HAS_CHECK,
  HAS_VALUE,
  IS_LAST,
  IS_SHARED,
  NOTHING,
  readVarint,
  TOKEN_CHECK_BYTES,
  usesRecordCheck,
} from './cell-layout.ts'
import type { CellMap } from './cell-offsets.ts'

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
export function findRuns(bytes: Uint8Array, start: number, { end, ordinals, groupMarks }: CellMap, runs: LayoutRuns): LayoutRuns {
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
export function mapRuns(bytes: Uint8Array, start: number, map: CellMap, { end, hasShared }: LayoutRuns): boolean {
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
export function mapContent(
  bytes: Uint8Array,
  from: number,
  { ordinals, offsets, sizes, recordCheck }: CellMap,
  cell: number,
): number {
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
