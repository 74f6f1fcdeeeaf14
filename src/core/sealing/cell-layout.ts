/** How cells lie in the plaintext of sealed bodies: the cells of a record, each with the ordinal of its column. */

/*
 * A body has a layout, then the token check of the record (8 bytes) if a cell shares it, then the contents of its cells by rising ordinal. A
 * body without cells is empty. A null has no cell.
 *
 * The layout begins with the byte LAID_OUT. These parts follow, each with a head, varint (count << 3 | bits):
 * - Of count 1 and more: so many columns, from the next ordinal, whose cells all have these bits. Bits of 0 are columns without a cell.
 * - Of count 0: the end of a group of columns, with the mark of all columns up to here: 4 bytes, as `columnsMark` returns it. Bit IS_LAST is set
 *   for the last one, which ends the layout.
 *
 * The bits of a cell, and its content:
 * - HAS_CHECK alone: the token check of the cell, 8 bytes. HAS_CHECK and IS_SHARED: varint length and UTF-8 of the text of the token.
 *   IS_SHARED alone: nothing, the cell uses the token check of the record.
 * - HAS_VALUE: varint length and the bytes of the value. The cell of a plain column has none.
 * Cells written by the insert share the token check of the record: the object id in a pointer distinguishes their tokens. A cell
 * changed later gets its own token check, so that only its old token becomes invalid.
 *
 * Ordinals come from the catalog. If an older copy of the catalog is restored, columns can be numbered again. The mark then differs,
 * and the body is unreadable: the bytes of one column are never read as another, or as another type. The columns that one change of the
 * schema added are one group. A process that has not read that change knows none of them and skips the group. It knows either all
 * columns up to the end of a group or none of the group, so a group of which it knows a part is not of its catalog.
 */

/** Length of a token check in bytes: 58 random bits, right-aligned, big-endian. */
export const TOKEN_CHECK_BYTES = 8
/** Mask for the high word of a token check. It keeps 26 of 32 bits, so that the check fits into a pointer. */
export const TOKEN_CHECK_HIGH_MASK = 0x03ff_ffff
/** Length in bytes of the reference to a transient value, which replaces it in the body: its row id and its expiry, 8 bytes each. */
export const TRANSIENT_REF_BYTES = 16

/** The first byte of a body with a layout. */
export const LAID_OUT = 1

/** The bits of a cell. */
export const HAS_VALUE = 1
export const HAS_CHECK = 2
export const IS_SHARED = 4
/** Number of bits of a head below its count, and a mask of them. */
export const CELL_BITS = 3
export const CELL_MASK = 7

/** The bit of the end of the last group. */
export const IS_LAST = 1

/** Length in bytes of the mark of a group. */
export const GROUP_MARK_BYTES = 4

/** What a cell stores for its token: `shared` uses the token check of the record, `own` has its own, `text` has the text of the token. */
export type CheckPlacement = 'shared' | 'own' | 'text' | 'none'

const PLACEMENT_BITS: Readonly<Record<CheckPlacement, number>> = {
  shared: IS_SHARED,
  own: HAS_CHECK,
  text: HAS_CHECK | IS_SHARED,
  none: 0,
}

/** True if a cell with these bits uses the token check of the record. */
export function usesRecordCheck(bits: number): boolean {
  return (bits & (HAS_CHECK | IS_SHARED)) === IS_SHARED
}

/** Returns the bits of a cell. */
export function cellBits(placement: CheckPlacement, hasValue: boolean): number {
  return PLACEMENT_BITS[placement] | (hasValue ? HAS_VALUE : 0)
}

/** The identity of a column, as far as marks have it: a hash of 32 bits, and the tag of its type. */
export interface ColumnHash {
  readonly hash: number
  readonly typeTag: number
}

/**
 * Returns the hash of a column: of the tag of its type, and of its `identity`. There is no key: marks detect wrong columns in an
 * authentic body, not a forgery.
 */
export function hashColumn(typeTag: number, identity: string): ColumnHash {
  // FNV-1a, then the finalizer of MurmurHash3, so that every bit of the input changes half of the hash.
  let hash = Math.imul(0x811c9dc5 ^ typeTag, 0x01000193)
  for (let i = 0; i < identity.length; i++) hash = Math.imul(hash ^ identity.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return { hash, typeTag }
}

/** Returns the mark of the columns before a column, and of the column itself, as a signed number of 32 bits. */
function columnsMark(before: number, { hash, typeTag }: ColumnHash): number {
  let mark = Math.imul(before ^ hash, 0x85ebca6b) ^ typeTag
  mark = Math.imul(mark ^ (mark >>> 15), 0xc2b2ae35)
  return Math.imul(mark ^ (mark >>> 13), 0x27d4eb2f) ^ (mark >>> 16)
}

/** A group of columns in a layout of which this process knows none. */
export interface UnknownGroup {
  /** The ordinal after its last column. */
  readonly end: number
  /** Its cells by rising ordinal: ordinal << CELL_BITS | bits. */
  readonly cells: readonly number[]
  /** Its mark as it is stored. */
  readonly mark: Uint8Array
}

/** The layout of a body. Bodies of one insert have the same, so it is read once for many. */
export interface BodyLayout {
  /** The bytes of the layout. */
  readonly bytes: Uint8Array
  /** The cells by rising ordinal: ordinal << CELL_BITS | bits. */
  readonly cells: readonly number[]
  /** True if a cell uses the token check of the record. */
  readonly hasShared: boolean
  /** By ordinal: 1 if the cell uses the token check of the record. */
  readonly isShared: Uint8Array
  /** The ordinals of the cells, if all are of known columns and have a value, and neither a token check nor the text of a token; else undefined. */
  readonly valueOrdinals: Int32Array | undefined
  readonly unknown: readonly UnknownGroup[]
}

/** What the cell of a column must be. */
export interface CellSpec {
  readonly ordinal: number
  readonly column: ColumnHash
  /** Length of the value in bytes; undefined if it varies. */
  readonly size: number | undefined
}

/** The layout of the last bodies of a table. The next body often has the same. */
export interface LastLayout {
  layout: BodyLayout | undefined
  /** How many bodies since had another one, all of them the same, and the hash of its heads. */
  misses: number
  missed: number
}

/** What the cells of a body must be. */
export interface CellSpecs {
  readonly ordinals: number
  /** The marks of groups, by the ordinal after the last column of the group. */
  readonly groupMarks: Int32Array
  /** The ordinals after the last columns of the groups, rising. */
  readonly groupEnds: readonly number[]
  /** Length of the value by ordinal, -1 if it varies. */
  readonly sizes: Int32Array
  /** The ordinals of columns that were erased: a body that is sealed again loses their cells. */
  readonly gone: readonly number[]
  /** The offsets of a body without cells, five for each ordinal. Maps begin as a copy: filling a list costs several times as much. */
  readonly noOffsets: readonly number[]
  readonly last: LastLayout
}

/** The offset, or the length, of what a body does not have. */
export const NOTHING = -1

/** Returns the specs as lists by ordinal. The ordinals are distinct. `earlierEnds` has the ends of all groups but the last. */
export function toCellSpecs(
  cells: readonly CellSpec[],
  earlierEnds: readonly number[] = [],
  gone: readonly number[] = [],
): CellSpecs {
  const ordinals = cells.reduce((most, { ordinal }) => Math.max(most, ordinal + 1), 0)
  const groupMarks = new Int32Array(ordinals + 1)
  const sizes = new Int32Array(ordinals).fill(NOTHING)
  for (const { ordinal, column, size } of cells.toSorted((left, right) => left.ordinal - right.ordinal)) {
    groupMarks[ordinal + 1] = columnsMark(groupMarks[ordinal] ?? 0, column)
    if (size !== undefined) sizes[ordinal] = size
  }
  const groupEnds = [...earlierEnds.filter((end) => end < ordinals), ordinals]
  const noOffsets = new Array<number>(5 * ordinals).fill(NOTHING)
  return { ordinals, groupMarks, groupEnds, sizes, gone, noOffsets, last: { layout: undefined, misses: 0, missed: 0 } }
}

/** Returns a varint and the offset after it. A byte beyond the end reads as 0: what follows then ends beyond the end, and the body is unreadable. */
export function readVarint(bytes: Uint8Array, start: number): [value: number, next: number] {
  let value = 0
  let next = start
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = bytes[next++] ?? 0
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) break
  }
  return [value >>> 0, next]
}

/** Returns the offset after a varint length and so many bytes. */
function skipBytes(bytes: Uint8Array, from: number): number {
  const [size, next] = readVarint(bytes, from)
  return next + size
}

/** Returns the offset after the content of a cell. */
export function skipCell(bytes: Uint8Array, from: number, bits: number): number {
  const placement = bits & (HAS_CHECK | IS_SHARED)
  let next = from
  if (placement === HAS_CHECK) next += TOKEN_CHECK_BYTES
  else if (placement === (HAS_CHECK | IS_SHARED)) next = skipBytes(bytes, next)
  return (bits & HAS_VALUE) === 0 ? next : skipBytes(bytes, next)
}
