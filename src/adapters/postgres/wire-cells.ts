/** Converts cells to what PostgreSQL takes and back: escaped text, arrays in binary form, and values read as text. */
import { VaultError } from '../../core/errors.ts'
import type { Cell, PhysicalType, Row } from '../../core/ports/storage.ts'
import { toIntegerCell, toPlainBytes } from '../sql/stored-cells.ts'
import type { TableShape } from '../sql/table-shapes.ts'

/** PostgreSQL's own numbers for its types. */
export const TYPE_OIDS: Readonly<Record<PhysicalType, number>> = { integer: 20, real: 701, text: 25, bytes: 17 }

/** The name of each type in statements. Without its schema the server would first look for it among the temporary tables of the session. */
export const TYPE_NAMES: Readonly<Record<PhysicalType, string>> = {
  integer: 'pg_catalog.int8',
  real: 'pg_catalog.float8',
  text: 'pg_catalog.text',
  bytes: 'pg_catalog.bytea',
}

/**
 * Text as PostgreSQL can hold it. It refuses U+0000, so U+0000 becomes U+0001 U+0001 and U+0001 becomes U+0001 U+0002:
 * reversible, and keeps the order by code point.
 */
function toStoredText(text: string): string {
  if (!text.includes('\u0000') && !text.includes('\u0001')) return text
  return text.replaceAll('\u0001', '\u0001\u0002').replaceAll('\u0000', '\u0001\u0001')
}

/** Undoes the escapes. Pairs are read from the left and U+0001 only begins one, so two plain replacements suffice. */
export function fromStoredText(stored: string): string {
  if (!stored.includes('\u0001')) return stored
  return stored.replaceAll('\u0001\u0001', '\u0000').replaceAll('\u0001\u0002', '\u0001')
}

/** The value to bind for one cell. */
export function toWireCell(type: PhysicalType, cell: Cell): string | Buffer | null {
  if (cell === null) return null
  switch (type) {
    case 'integer':
      if (isInteger(cell)) return String(cell)
      break
    case 'real':
      if (typeof cell === 'number') return Object.is(cell, -0) ? '-0' : String(cell)
      if (typeof cell === 'bigint') return String(cell)
      break
    case 'text':
      if (typeof cell === 'string') return toStoredText(cell)
      break
    case 'bytes':
      if (cell instanceof Uint8Array) return Buffer.from(cell.buffer, cell.byteOffset, cell.byteLength)
      break
  }
  throw cellError(type)
}

/** The cell for what a statement returned for a column of this type. Reals and bytes are selected as base64, see `readColumn`. */
export function fromWireCell(type: PhysicalType, raw: unknown): Cell {
  if (raw === null) return null
  switch (type) {
    case 'integer':
      return toInteger(raw)
    case 'real':
      return Buffer.from(String(raw), 'base64').readDoubleBE()
    case 'text':
      return fromStoredText(String(raw))
    case 'bytes':
      return toPlainBytes(Buffer.from(String(raw), 'base64'))
  }
}

/** Digits that always fit a safe integer. */
const SAFE_DIGITS = 15

export function toInteger(raw: unknown): number | bigint {
  if (typeof raw === 'number') return raw
  if (typeof raw === 'bigint') return toIntegerCell(raw)
  const digits = String(raw)
  return digits.length <= SAFE_DIGITS ? Number(digits) : toIntegerCell(digits)
}

function isInteger(cell: Cell): cell is number | bigint {
  return typeof cell === 'bigint' ? BigInt.asIntN(64, cell) === cell : Number.isSafeInteger(cell)
}

function cellError(type: PhysicalType): VaultError {
  return new VaultError('internal', `A cell given for a column of type ${type} is not of that type.`)
}

/** Bytes before the elements: dimensions, null flag, element type, length, lower bound. Without elements there is neither of the last two. */
const ARRAY_HEADER = 20
const EMPTY_HEADER = 12
/** Bytes of the length of an element. */
const LENGTH_BYTES = 4

/**
 * A list of cells as one binary array parameter: nothing to escape or to parse, and exact for every type.
 * The form is that of array_recv: a header, then each element as a length (-1 for null) and its bytes.
 */
export function toWireArray(type: PhysicalType, cells: readonly Cell[]): Buffer {
  switch (type) {
    case 'integer':
      return numberArray(type, cells, writeInteger)
    case 'real':
      return numberArray(type, cells, writeReal)
    case 'text':
      return textArray(cells)
    case 'bytes':
      return bytesArray(cells)
  }
}

/**
 * Row ids as one parameter, rising. The server looks up neighbors one after the other, so the pages of its index and its table are in the
 * caches of the processor.
 */
export function toWireIds(ids: readonly number[]): Buffer {
  const rising = new Float64Array(ids)
  // The bits of positive numbers rise as the numbers do, and V8 sorts whole numbers eight times as fast. Ids below zero, which no row has, come last.
  new BigUint64Array(rising.buffer).sort()
  const wire = startArray('integer', rising.length, 8 * rising.length)
  let at = ARRAY_HEADER
  for (let index = 0; index < rising.length; index++) {
    wire.setInt32(at, 8)
    writeInteger(wire, rising[index] ?? 0, at + LENGTH_BYTES)
    at += LENGTH_BYTES + 8
  }
  return bytesOf(wire)
}

/** A view that writes numbers: methods of Buffer check each value and place again. */
function startArray(type: PhysicalType, count: number, contentBytes: number): DataView {
  const length = count === 0 ? EMPTY_HEADER : ARRAY_HEADER + LENGTH_BYTES * count + contentBytes
  const { buffer, byteOffset } = Buffer.allocUnsafe(length)
  const wire = new DataView(buffer, byteOffset, length)
  wire.setInt32(0, count === 0 ? 0 : 1)
  wire.setInt32(4, 1)
  wire.setInt32(8, TYPE_OIDS[type])
  if (count === 0) return wire
  wire.setInt32(12, count)
  wire.setInt32(16, 1)
  return wire
}

function bytesOf({ buffer, byteOffset, byteLength }: DataView): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

type WriteNumber = (wire: DataView, cell: Exclude<Cell, null>, at: number) => void

function numberArray(type: 'integer' | 'real', cells: readonly Cell[], write: WriteNumber): Buffer {
  let size = 0
  for (const cell of cells) if (cell !== null) size += 8
  const wire = startArray(type, cells.length, size)
  let at = ARRAY_HEADER
  for (const cell of cells) {
    wire.setInt32(at, cell === null ? -1 : 8)
    at += LENGTH_BYTES
    if (cell === null) continue
    write(wire, cell, at)
    at += 8
  }
  return bytesOf(wire)
}

function writeInteger(wire: DataView, cell: Exclude<Cell, null>, at: number): void {
  if (!isInteger(cell)) throw cellError('integer')
  if (typeof cell === 'bigint') {
    wire.setBigInt64(at, cell)
    return
  }
  wire.setInt32(at, Math.floor(cell / 0x1_0000_0000))
  wire.setUint32(at + 4, cell >>> 0)
}

function writeReal(wire: DataView, cell: Exclude<Cell, null>, at: number): void {
  if (typeof cell !== 'number' && typeof cell !== 'bigint') throw cellError('real')
  wire.setFloat64(at, Number(cell))
}

function textArray(cells: readonly Cell[]): Buffer {
  const texts = cells.map((cell) => {
    if (cell === null) return null
    if (typeof cell !== 'string') throw cellError('text')
    return toStoredText(cell)
  })
  let size = 0
  for (const text of texts) if (text !== null) size += Buffer.byteLength(text)
  const wire = startArray('text', cells.length, size)
  const bytes = bytesOf(wire)
  let at = ARRAY_HEADER
  for (const text of texts) {
    const length = text === null ? -1 : bytes.write(text, at + LENGTH_BYTES)
    wire.setInt32(at, length)
    at += LENGTH_BYTES + Math.max(length, 0)
  }
  return bytes
}

function bytesArray(cells: readonly Cell[]): Buffer {
  let size = 0
  for (const cell of cells) {
    if (cell === null) continue
    if (!(cell instanceof Uint8Array)) throw cellError('bytes')
    size += cell.length
  }
  const wire = startArray('bytes', cells.length, size)
  const bytes = bytesOf(wire)
  let at = ARRAY_HEADER
  for (const cell of cells) {
    const content = cell instanceof Uint8Array ? cell : undefined
    wire.setInt32(at, content?.length ?? -1)
    at += LENGTH_BYTES
    if (content === undefined) continue
    bytes.set(content, at)
    at += content.length
  }
  return bytes
}

/** The row of a result. `raw` can have further fields behind those of the row. */
export function toRow(shape: TableShape, raw: readonly unknown[]): Row {
  const row: { id: number; version: number; [column: string]: Cell } = { id: Number(raw[0]), version: Number(raw[1]) }
  let index = 0
  for (const { name, type } of shape.columns) {
    if (index >= 2) row[name] = fromWireCell(type, raw[index])
    index++
  }
  return row
}
