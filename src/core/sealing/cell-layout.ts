/** How the cells of a record stand in the plaintext of its body: compact, self-describing, by column ordinal. */
import type { ByteWriter } from '../util/bytes.ts'

/*
 * A body is a run of cells: varint (ordinal << 2 | hasStamp << 1 | hasValue), then the stamp (8 bytes, where it has one),
 * then varint length and the value's bytes (where it has one). A null has no cell. A plain column's cell is a stamp alone.
 */

/** Bytes of a stamp: 58 random bits, right-aligned. */
export const STAMP_BYTES = 8
/** The highest word of a stamp keeps 26 of its 32 bits, so that a pointer has room for it. */
export const STAMP_HIGH_MASK = 0x03ff_ffff

/** Writes a cell's head; where it has a stamp, the caller writes its two words next. */
export function writeCellHead(out: ByteWriter, ordinal: number, has: { readonly stamp: boolean; readonly value: boolean }): void {
  out.varint((ordinal << 2) | (has.stamp ? 2 : 0) | (has.value ? 1 : 0))
}

/** Begins a value of unknown length; answers the mark to end it with. */
export function beginValue(out: ByteWriter): number {
  out.u8(0)
  return out.length
}

/** Writes the length of the value written since the mark before it, moving it only where the length takes more than one byte. */
export function endValue(out: ByteWriter, mark: number): void {
  const size = out.length - mark
  if (size < 0x80) {
    out.bytes[mark - 1] = size
    return
  }
  let extra = 0
  for (let rest = size; rest > 0x7f; rest >>>= 7) extra++
  out.reserve(extra)
  out.bytes.copyWithin(mark + extra, mark, mark + size)
  out.length = mark - 1
  out.varint(size)
  out.length = mark + extra + size
}

/** Where the cells of one body stand, by ordinal; reused from body to body. */
export interface CellMap {
  /** Offset of the whole cell and of its end; -1 where the record has none. */
  readonly cellStart: Int32Array
  readonly cellEnd: Int32Array
  /** Offset of the value; -1 where the cell has none. */
  readonly valueStart: Int32Array
  /** Offset of the stamp; -1 where the cell has none. */
  readonly stampStart: Int32Array
}

/** An empty map for bodies of this many ordinals. */
export function createCellMap(ordinals: number): CellMap {
  const list = (): Int32Array => new Int32Array(ordinals).fill(-1)
  return { cellStart: list(), cellEnd: list(), valueStart: list(), stampStart: list() }
}

/** Fills the map from `bytes[start .. end)`, passing over ordinals it has no room for; answers false where the bytes are no run of cells. */
export function mapCells(bytes: Uint8Array, start: number, end: number, map: CellMap): boolean {
  map.cellStart.fill(-1)
  map.valueStart.fill(-1)
  map.stampStart.fill(-1)
  let at = start
  while (at < end) at = mapCell(bytes, at, map)
  return at === end
}

/** Maps the cell at `from` and answers where the next begins. */
function mapCell(bytes: Uint8Array, from: number, map: CellMap): number {
  let at = from
  let head = bytes[at++] ?? 0
  if (head > 0x7f) [head, at] = longVarint(bytes, from)
  const ordinal = head >>> 2
  const known = ordinal < map.cellStart.length
  if ((head & 2) !== 0) {
    if (known) map.stampStart[ordinal] = at
    at += STAMP_BYTES
  }
  if ((head & 1) !== 0) {
    let size = bytes[at++] ?? 0
    if (size > 0x7f) [size, at] = longVarint(bytes, at - 1)
    if (known) map.valueStart[ordinal] = at
    at += size
  }
  if (known) {
    map.cellStart[ordinal] = from
    map.cellEnd[ordinal] = at
  }
  return at
}

/**
 * Copies every cell of `bytes[start .. end)` but those whose ordinal is replaced. Cells of columns that this process
 * does not know yet (another one opened the vault with a newer schema) are copied as they are.
 */
export function copyCells(
  bytes: Uint8Array,
  start: number,
  end: number,
  isReplaced: (ordinal: number) => boolean,
  out: ByteWriter,
): void {
  const none = createCellMap(0)
  let at = start
  while (at < end) {
    const next = mapCell(bytes, at, none)
    const [head] = longVarint(bytes, at)
    if (!isReplaced(head >>> 2)) out.raw(bytes.subarray(at, next))
    at = next
  }
}

function longVarint(bytes: Uint8Array, start: number): [value: number, next: number] {
  let value = 0
  let at = start
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = bytes[at++] ?? 0
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) break
  }
  return [value >>> 0, at]
}
