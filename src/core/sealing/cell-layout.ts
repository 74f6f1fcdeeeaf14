/** Writes and reads the plaintext of sealed bodies: the cells of a record, each with the ordinal of its column. */
import type { ByteWriter } from '../util/bytes.ts'

/*
 * A body is a sequence of cells. A cell has these parts:
 * - The head: varint (slot << 3 | isShared << 2 | hasCheck << 1 | hasValue). Slot 0 is the token check of the record, and slot
 *   n + 1 is the column of ordinal n.
 * - The mark of the column, 3 bytes. Slot 0 has none.
 * - If only hasCheck is set: the token check of the cell, 8 bytes. If hasCheck and isShared are set: varint length and UTF-8 of
 *   the text of the token. If only isShared is set: nothing, the cell uses the token check of the record.
 * - If hasValue is set: varint length and the bytes of the value.
 * A null has no cell. The cell of a plain column has no value.
 * Cells written by the insert share the token check of the record: the object id in a pointer distinguishes their tokens. A cell
 * changed later gets its own token check, so that only its old token becomes invalid.
 * Ordinals come from the catalog. If an older copy of the catalog is restored, columns can be numbered again. The mark then differs,
 * and the body is unreadable: the bytes of one column are never read as another, or as another type.
 */

/** Length of a token check in bytes: 58 random bits, right-aligned, big-endian. */
export const TOKEN_CHECK_BYTES = 8
/** Mask for the high word of a token check. It keeps 26 of 32 bits, so that the check fits into a pointer. */
export const TOKEN_CHECK_HIGH_MASK = 0x03ff_ffff
/** Length in bytes of the reference to a transient value, which replaces it in the body: its row id and its expiry, 8 bytes each. */
export const TRANSIENT_REF_BYTES = 16

const HAS_VALUE = 1
const HAS_CHECK = 2
const IS_SHARED = 4

/** Length of the mark of a cell in bytes: the low 4 bits of the type's tag, and 20 bits of a hash. */
const MARK_BYTES = 3
const MARK_HASH_BITS = 20

/**
 * Returns the mark of a column: the tag of its type, and a hash of the tag and of its `identity`. Types with tags up to 15 never share a
 * mark. There is no key: the mark detects a wrong column in an authentic body, not a forgery.
 */
export function cellMark(typeTag: number, identity: string): number {
  // FNV-1a, then the finalizer of MurmurHash3, so that every bit of the input changes half of the mark.
  let hash = Math.imul(0x811c9dc5 ^ typeTag, 0x01000193)
  for (let i = 0; i < identity.length; i++) hash = Math.imul(hash ^ identity.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((typeTag & 0xf) << MARK_HASH_BITS) | (hash >>> (32 - MARK_HASH_BITS))
}

/** What the cell of a column must be. */
export interface CellSpec {
  readonly ordinal: number
  /** As `cellMark` returns it. */
  readonly mark: number
  /** Length of the value in bytes; undefined if it varies. */
  readonly size: number | undefined
}

/** What the cells of a body must be, by ordinal. */
export interface CellSpecs {
  readonly ordinals: number
  readonly marks: Int32Array
  /** -1 if the length varies. */
  readonly sizes: Int32Array
}

/** Returns the specs as lists by ordinal. The ordinals are distinct. */
export function toCellSpecs(cells: readonly CellSpec[]): CellSpecs {
  const ordinals = cells.reduce((most, { ordinal }) => Math.max(most, ordinal + 1), 0)
  const specs = { ordinals, marks: new Int32Array(ordinals), sizes: new Int32Array(ordinals).fill(NOTHING) }
  for (const { ordinal, mark, size } of cells) {
    specs.marks[ordinal] = mark
    if (size !== undefined) specs.sizes[ordinal] = size
  }
  return specs
}

/** Writes the head of the token check of the record. The caller writes its two words next, and cells that share it later. */
export function writeRecordCheckHead(out: ByteWriter): void {
  out.varint(HAS_CHECK)
}

/** What a cell stores for its token: `shared` uses the token check of the record, `own` has its own, `text` has the text of the token. */
export type CheckPlacement = 'shared' | 'own' | 'text' | 'none'

const PLACEMENT_BITS: Readonly<Record<CheckPlacement, number>> = {
  shared: IS_SHARED,
  own: HAS_CHECK,
  text: HAS_CHECK | IS_SHARED,
  none: 0,
}

/** Writes the head of a cell. The caller writes next the two words of an own token check, or the text of a token between `beginValue` and `endValue`. */
export function writeCellHead(
  out: ByteWriter,
  { ordinal, mark }: Pick<CellSpec, 'ordinal' | 'mark'>,
  placement: CheckPlacement,
  hasValue: boolean,
): void {
  out.varint(((ordinal + 1) << 3) | PLACEMENT_BITS[placement] | (hasValue ? HAS_VALUE : 0))
  out.u24(mark)
}

/** Begins a value of unknown length. Returns the offset to pass to `endValue`. */
export function beginValue(out: ByteWriter): number {
  out.u8(0)
  return out.length
}

/** Writes the length of the value that begins at `start` before it. Moves the value only if the length takes more than one byte. */
export function endValue(out: ByteWriter, start: number): void {
  const size = out.length - start
  if (size < 0x80) {
    out.bytes[start - 1] = size
    return
  }
  let extra = 0
  for (let rest = size; rest > 0x7f; rest >>>= 7) extra++
  out.reserve(extra)
  out.bytes.copyWithin(start + extra, start, start + size)
  out.length = start - 1
  out.varint(size)
  out.length = start + extra + size
}

/** The offset of what a body does not have. */
const NOTHING = -1

/** The offsets of the cells of one body, by ordinal; -1 if there is nothing. One map is reused for many bodies of one buffer. */
export interface CellMap extends CellSpecs {
  /** The bounds of the body. Offsets beyond them are left over from other bodies: clearing so many numbers would cost more than checking those that are read. */
  start: number
  end: number
  /** Five lists of `ordinals` offsets, one after the other: start and end of the value, the token check, start and end of the text of the token. */
  readonly offsets: number[]
  /** Offset of the token check of the record. */
  recordCheck: number
}

/** Returns an empty map for bodies with these cells. */
export function createCellMap(specs: CellSpecs): CellMap {
  const { ordinals, marks, sizes } = specs
  return {
    ordinals,
    marks,
    sizes,
    start: 0,
    end: 0,
    offsets: new Array<number>(5 * ordinals).fill(NOTHING),
    recordCheck: NOTHING,
  }
}

/** The offset in one of the lists; -1 if the body has nothing there. What a cell has is after its head, and so never at the start of a body. */
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
 * Fills the map from `bytes[start .. end)`. Skips ordinals above the map. Returns false if the bytes are not a sequence of cells, or if
 * the mark or the length of a cell differs from its spec.
 */
export function mapCells(bytes: Uint8Array, start: number, end: number, map: CellMap): boolean {
  map.start = start
  map.end = end
  map.recordCheck = NOTHING
  let next = start
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
  const { ordinals, offsets, marks, sizes } = map
  const head = bytes[from] ?? 0
  const ordinal = (head >>> 3) - 1
  const size = bytes[from + 1 + MARK_BYTES] ?? 0x80
  if (ordinal < 0 || ordinal >= ordinals || size > 0x7f) return mapCell(bytes, from, map)
  const start = from + MARK_BYTES + 2
  const fixed = sizes[ordinal] ?? NOTHING
  if (readMark(bytes, from + 1) !== marks[ordinal] || (fixed >= 0 && fixed !== size)) return BEYOND
  if ((head & IS_SHARED) !== 0) offsets[2 * ordinals + ordinal] = map.recordCheck
  offsets[ordinal] = start
  offsets[ordinals + ordinal] = start + size
  return start + size
}

/** Beyond the end of every body: the offset after a cell that differs from its spec. */
const BEYOND = 0x3fff_ffff

/** Maps the cell at offset `from`. Returns the offset of the next cell, beyond the end if the cell is cut off or differs from its spec. */
function mapCell(bytes: Uint8Array, from: number, map: CellMap): number {
  const { ordinals, offsets, marks } = map
  let next = from
  // A byte beyond the end reads as 0: the cell then ends beyond the end, and `mapCells` returns false.
  let head = bytes[next++] ?? 0
  if (head > 0x7f) [head, next] = longVarint(bytes, from)
  const ordinal = (head >>> 3) - 1
  const isKnown = ordinal >= 0 && ordinal < ordinals
  if (isKnown && readMark(bytes, next) !== marks[ordinal]) return BEYOND
  if (ordinal >= 0) next += MARK_BYTES
  const placement = head & (HAS_CHECK | IS_SHARED)
  if (placement === HAS_CHECK) {
    if (ordinal < 0) map.recordCheck = next
    if (isKnown) offsets[2 * ordinals + ordinal] = next
    next += TOKEN_CHECK_BYTES
  } else if (placement === IS_SHARED) {
    if (isKnown) offsets[2 * ordinals + ordinal] = map.recordCheck
  } else if (placement !== 0) {
    next = mapBytes(bytes, next, map, isKnown ? 3 * ordinals + ordinal : NOTHING)
  }
  return (head & HAS_VALUE) === 0 ? next : mapValue(bytes, next, map, isKnown ? ordinal : NOTHING)
}

/** Maps the value at `from`, as `mapBytes` does. Returns an offset beyond the end if its length differs from the spec. */
function mapValue(bytes: Uint8Array, from: number, map: CellMap, ordinal: number): number {
  const end = mapBytes(bytes, from, map, ordinal)
  if (ordinal < 0) return end
  const size = map.sizes[ordinal] ?? NOTHING
  return size >= 0 && end - valueStart(map, ordinal) !== size ? BEYOND : end
}

function readMark(bytes: Uint8Array, from: number): number {
  return ((bytes[from] ?? 0) << 16) | ((bytes[from + 1] ?? 0) << 8) | (bytes[from + 2] ?? 0)
}

/** Maps the varint length and bytes at `from`: stores their start at index `slot` and their end one list later, unless `slot` is -1. Returns the next offset. */
function mapBytes(bytes: Uint8Array, from: number, { ordinals, offsets }: CellMap, slot: number): number {
  let next = from
  let size = bytes[next++] ?? 0
  if (size > 0x7f) [size, next] = longVarint(bytes, from)
  if (slot >= 0) {
    offsets[slot] = next
    offsets[slot + ordinals] = next + size
  }
  return next + size
}

const NO_SPECS = toCellSpecs([])

/**
 * Copies every cell of `bytes[start .. end)` whose ordinal is not replaced. Keeps the token check of the record, and cells of
 * columns that this process does not know: another process may have opened the vault with a newer schema.
 */
export function copyCells(
  bytes: Uint8Array,
  start: number,
  end: number,
  isReplaced: (ordinal: number) => boolean,
  out: ByteWriter,
): void {
  const none = createCellMap(NO_SPECS)
  let from = start
  while (from < end) {
    const next = mapCell(bytes, from, none)
    const [head] = longVarint(bytes, from)
    if (!isReplaced((head >>> 3) - 1)) out.raw(bytes.subarray(from, next))
    from = next
  }
}

/** Returns a varint and the offset after it. A byte beyond the end reads as 0, as in `mapCell`. */
function longVarint(bytes: Uint8Array, start: number): [value: number, next: number] {
  let value = 0
  let next = start
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = bytes[next++] ?? 0
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) break
  }
  return [value >>> 0, next]
}
