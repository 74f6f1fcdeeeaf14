/** Writes the plaintext of bodies: the layout, and the contents of cells. */
import { ByteWriter } from '../util/bytes.ts'
import { type CellMap, checkStart, textEnd, textStart, valueEnd, valueStart } from './body-reader.ts'
import {
  CELL_BITS,
  CELL_MASK,
  type CellSpecs,
  HAS_CHECK,
  HAS_VALUE,
  IS_LAST,
  IS_SHARED,
  LAID_OUT,
  NOTHING,
  TOKEN_CHECK_BYTES,
  type UnknownGroup,
  usesRecordCheck,
} from './cell-layout.ts'

/** Writes the layouts of many bodies of one table. The layout of the last one is kept: the next body usually has the same. */
export interface LayoutWriter {
  /** The bits of each cell of the next body, by ordinal; 0 for a column without a cell. */
  readonly bits: Uint8Array
  /**
   * Writes the layout of a body with these bits and the cells of `unknown` groups, by rising ordinal; nothing for a body without cells.
   * Returns true if a cell uses the token check of the record: the caller writes that next, and then the contents by rising ordinal.
   */
  write(out: ByteWriter, unknown?: readonly UnknownGroup[]): boolean
}

/** Returns a writer of layouts for these cells. */
export function createLayoutWriter(specs: CellSpecs): LayoutWriter {
  const bits = new Uint8Array(specs.ordinals)
  const last = new Uint8Array(specs.ordinals)
  const lastLayout = new ByteWriter(specs.ordinals + 16)
  let lastBytes = lastLayout.written()
  let hasShared = false
  return {
    bits,
    write(out, unknown = []) {
      if (unknown.length > 0) {
        writeLayout(out, specs, bits, unknown)
        return sharesCheck(bits) || unknown.some(({ cells }) => cells.some(usesRecordCheck))
      }
      if (!isEqual(bits, last)) {
        lastLayout.length = 0
        writeLayout(lastLayout, specs, bits, unknown)
        lastBytes = lastLayout.written()
        last.set(bits)
        hasShared = sharesCheck(bits)
      }
      out.raw(lastBytes)
      return hasShared
    },
  }
}

function isEqual(left: Uint8Array, right: Uint8Array): boolean {
  for (let i = 0; i < left.length; i++) if (left[i] !== right[i]) return false
  return true
}

function sharesCheck(bits: Uint8Array): boolean {
  for (let i = 0; i < bits.length; i++) if (usesRecordCheck(bits[i] ?? 0)) return true
  return false
}

function writeLayout(
  out: ByteWriter,
  { groupEnds, groupMarks }: CellSpecs,
  bits: Uint8Array,
  unknown: readonly UnknownGroup[],
): void {
  const begin = out.length
  out.u8(LAID_OUT)
  let from = 0
  let before = 0
  let endHead = NOTHING
  for (const end of groupEnds) {
    // A group without cells is skipped together with the columns of the next one.
    if (hasCells(bits, before, end)) {
      writeRuns(out, bits, from, end)
      endHead = out.length
      out.u8(0)
      out.u32(groupMarks[end] ?? 0)
      from = end
    }
    before = end
  }
  for (const { end, cells, mark } of unknown) {
    const groupBits = new Uint8Array(end)
    for (const cell of cells) groupBits[cell >>> CELL_BITS] = cell & CELL_MASK
    writeRuns(out, groupBits, from, end)
    endHead = out.length
    out.u8(0)
    out.raw(mark)
    from = end
  }
  if (endHead < 0) out.length = begin
  else out.bytes[endHead] = (out.bytes[endHead] ?? 0) | IS_LAST
}

function hasCells(bits: Uint8Array, from: number, end: number): boolean {
  for (let ordinal = from; ordinal < end; ordinal++) if (bits[ordinal] !== 0) return true
  return false
}

/** Writes the heads of the columns `from` to `end`: one for neighbors with equal bits. */
function writeRuns(out: ByteWriter, bits: Uint8Array, from: number, end: number): void {
  for (let ordinal = from; ordinal < end; ) {
    const first = bits[ordinal] ?? 0
    let after = ordinal + 1
    while (after < end && bits[after] === first) after++
    out.varint(((after - ordinal) << CELL_BITS) | first)
    ordinal = after
  }
}

/** Begins a value, or the text of a token, of unknown length. Returns the offset to pass to `endValue`. */
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

/** Copies the content of the cell of a mapped body. `bits` are its bits. */
export function copyContent(
  bytes: Uint8Array,
  map: CellMap,
  { ordinal, bits }: { ordinal: number; bits: number },
  out: ByteWriter,
): void {
  const placement = bits & (HAS_CHECK | IS_SHARED)
  if (placement === HAS_CHECK) {
    const check = checkStart(map, ordinal)
    out.raw(bytes.subarray(check, check + TOKEN_CHECK_BYTES))
  } else if (placement === (HAS_CHECK | IS_SHARED)) copyBytes(bytes, textStart(map, ordinal), textEnd(map, ordinal), out)
  if ((bits & HAS_VALUE) !== 0) copyBytes(bytes, valueStart(map, ordinal), valueEnd(map, ordinal), out)
}

function copyBytes(bytes: Uint8Array, start: number, end: number, out: ByteWriter): void {
  out.varint(end - start)
  out.raw(bytes.subarray(start, end))
}
