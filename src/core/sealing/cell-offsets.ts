/** Where the cells of an opened body are: the offsets of their values, token checks and texts, by ordinal. */
import { type BodyLayout, type CellSpecs, NOTHING, type UnknownGroup } from './cell-layout.ts'

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
export function createCellMap({ ordinals, groupMarks, groupEnds, sizes, noOffsets, last }: CellSpecs): CellMap {
  return {
    ordinals,
    groupMarks,
    groupEnds,
    sizes,
    noOffsets,
    last,
    start: 0,
    end: 0,
    offsets: noOffsets.slice(),
    recordCheck: NOTHING,
    layout: undefined,
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

/** Cells of columns that this process does not know, with their contents, one after the other. */
export interface UnknownCells {
  readonly group: UnknownGroup
  readonly content: Uint8Array
}
