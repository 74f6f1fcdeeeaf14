/** How the cells of a record stand in the plaintext of its body: compact, self-describing, by column ordinal. */
import type { ByteWriter } from '../util/bytes.ts'

/*
 * A body is a run of cells. Each begins with varint (slot << 3 | isShared << 2 | hasStamp << 1 | hasValue), where slot 0 is the
 * record's own stamp and slot n + 1 the column of ordinal n; then come its stamp (8 bytes, where it has one of its own) or,
 * where both stamp bits are set, varint length and UTF-8 of its token's text; and then varint length and the value's bytes
 * (where it has a value). A null has no cell; a plain column's cell is a mark alone.
 * Cells written with the record share its stamp, for the space in a pointer already tells their tokens apart; a cell that is
 * changed later brings a stamp of its own, and so its old token dies alone.
 */

/** Bytes of a stamp: 58 random bits, right-aligned. */
export const STAMP_BYTES = 8
/** The highest word of a stamp keeps 26 of its 32 bits, so that a pointer has room for it. */
export const STAMP_HIGH_MASK = 0x03ff_ffff

const HAS_VALUE = 1
const HAS_STAMP = 2
const IS_SHARED = 4

/** Writes the head of the record's own stamp; the caller writes its two words next. It stands before all cells that share it. */
export function writeRecordStampHead(out: ByteWriter): void {
  out.varint(HAS_STAMP)
}

/** What a tokenized cell keeps for its token: the record's stamp, a stamp of its own, the token's text, or nothing. */
export type MarkPlace = 'shared' | 'own' | 'text' | 'none'

const PLACE_BITS: Readonly<Record<MarkPlace, number>> = {
  shared: IS_SHARED,
  own: HAS_STAMP,
  text: HAS_STAMP | IS_SHARED,
  none: 0,
}

/** Writes a cell's head; an own stamp's two words, or a token's text between `beginValue` and `endValue`, come next. */
export function writeCellHead(out: ByteWriter, ordinal: number, mark: MarkPlace, hasValue: boolean): void {
  out.varint(((ordinal + 1) << 3) | PLACE_BITS[mark] | (hasValue ? HAS_VALUE : 0))
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

/** Where the cells of one body stand; reused from body to body. Offsets by ordinal, -1 where there is nothing. */
export interface CellMap {
  readonly ordinals: number
  /** Five runs, one after the other: begin and end of each value, the cell's stamp, begin and end of its token's text. */
  readonly offsets: Int32Array
  /** Where the record's own stamp stands. */
  recordStamp: number
}

/** An empty map for bodies of this many ordinals. */
export function createCellMap(ordinals: number): CellMap {
  return { ordinals, offsets: new Int32Array(5 * ordinals).fill(-1), recordStamp: -1 }
}

/** Offset of a column's value, -1 where the record has none. */
export function valueStart({ offsets }: CellMap, ordinal: number): number {
  return offsets[ordinal] ?? -1
}

/** Offset of the end of a column's value. */
export function valueEnd({ ordinals, offsets }: CellMap, ordinal: number): number {
  return offsets[ordinals + ordinal] ?? -1
}

/** Offset of a column's stamp, -1 where it has none. */
export function stampStart({ ordinals, offsets }: CellMap, ordinal: number): number {
  return offsets[2 * ordinals + ordinal] ?? -1
}

/** Offset of the text of a column's token, -1 where it has none. */
export function textStart({ ordinals, offsets }: CellMap, ordinal: number): number {
  return offsets[3 * ordinals + ordinal] ?? -1
}

/** Offset of the end of the text of a column's token. */
export function textEnd({ ordinals, offsets }: CellMap, ordinal: number): number {
  return offsets[4 * ordinals + ordinal] ?? -1
}

/** Fills the map from `bytes[start .. end)`, passing over ordinals it has no room for; answers false where the bytes are no run of cells. */
export function mapCells(bytes: Uint8Array, start: number, end: number, map: CellMap): boolean {
  map.offsets.fill(-1)
  map.recordStamp = -1
  let at = start
  while (at < end) at = mapCell(bytes, at, map)
  return at === end
}

/** Maps the cell at `from` and answers where the next begins. */
function mapCell(bytes: Uint8Array, from: number, map: CellMap): number {
  const { ordinals, offsets } = map
  let at = from
  let head = bytes[at++] ?? 0
  if (head > 0x7f) [head, at] = longVarint(bytes, from)
  const ordinal = (head >>> 3) - 1
  const isKnown = ordinal >= 0 && ordinal < ordinals
  const place = head & (HAS_STAMP | IS_SHARED)
  if (place === HAS_STAMP) {
    if (ordinal < 0) map.recordStamp = at
    if (isKnown) offsets[2 * ordinals + ordinal] = at
    at += STAMP_BYTES
  } else if (place === IS_SHARED) {
    if (isKnown) offsets[2 * ordinals + ordinal] = map.recordStamp
  } else if (place !== 0) {
    at = mapRun(bytes, at, map, isKnown ? 3 * ordinals + ordinal : -1)
  }
  return (head & HAS_VALUE) === 0 ? at : mapRun(bytes, at, map, isKnown ? ordinal : -1)
}

/** Maps varint length and bytes at `from`: their begin into this place, their end a run further; answers what follows. */
function mapRun(bytes: Uint8Array, from: number, { ordinals, offsets }: CellMap, place: number): number {
  let at = from
  let size = bytes[at++] ?? 0
  if (size > 0x7f) [size, at] = longVarint(bytes, from)
  if (place >= 0) {
    offsets[place] = at
    offsets[place + ordinals] = at + size
  }
  return at + size
}

/**
 * Copies every cell of `bytes[start .. end)` but those whose ordinal is replaced. The record's own stamp stays, and so do
 * cells of columns that this process does not know yet (another one opened the vault with a newer schema).
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
    if (!isReplaced((head >>> 3) - 1)) out.raw(bytes.subarray(at, next))
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
