/** Rows as bytes, exact for every type of cell: id and version, then the cells in the order of the columns, each with its length. */
import type { Cell, PhysicalType, Row, StoredTable } from '../core/ports/storage.ts'
import { readI64, readU32 } from '../core/util/bytes.ts'

/** The columns of rows, in the order of their cells. */
type Columns = StoredTable['columns']

/** The length of a cell that is null. No other has so many bytes. */
const NULL_LENGTH = 0xffff_ffff
const LENGTH_BYTES = 4
const NUMBER_BYTES = 8

/** Returns rows as bytes. */
export function encodeRows(columns: Columns, rows: readonly Row[]): Uint8Array {
  let length = 0
  for (const row of rows) {
    length += 2 * NUMBER_BYTES
    for (const { name } of columns) length += LENGTH_BYTES + lengthOf(row[name] ?? null)
  }
  const bytes = Buffer.allocUnsafe(length)
  let at = 0
  for (const row of rows) {
    at = bytes.writeBigInt64BE(BigInt(row.id), at)
    at = bytes.writeBigInt64BE(BigInt(row.version), at)
    for (const { name, type } of columns) at = writeCell(bytes, at, { type, cell: row[name] ?? null })
  }
  return bytes
}

function lengthOf(cell: Cell): number {
  if (cell === null) return 0
  if (typeof cell === 'string') return Buffer.byteLength(cell)
  return cell instanceof Uint8Array ? cell.length : NUMBER_BYTES
}

/** Returns the position after the cell. */
function writeCell(bytes: Buffer, at: number, { type, cell }: { readonly type: PhysicalType; readonly cell: Cell }): number {
  if (cell === null) return bytes.writeUInt32BE(NULL_LENGTH, at)
  const start = bytes.writeUInt32BE(lengthOf(cell), at)
  if (typeof cell === 'string') return start + bytes.write(cell, start)
  if (cell instanceof Uint8Array) {
    bytes.set(cell, start)
    return start + cell.length
  }
  return type === 'real' ? bytes.writeDoubleBE(Number(cell), start) : bytes.writeBigInt64BE(BigInt(cell), start)
}

/** Returns the rows of bytes that `encodeRows` made, which were checked before. Their bytes are views. */
export function decodeRows(columns: Columns, bytes: Uint8Array): Row[] {
  const rows: Row[] = []
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let at = 0; at < bytes.length; ) {
    const row: { id: number; version: number; [column: string]: Cell } = {
      id: Number(readI64(bytes, at)),
      version: Number(readI64(bytes, at + NUMBER_BYTES)),
    }
    at += 2 * NUMBER_BYTES
    for (const { name, type } of columns) {
      const length = readU32(bytes, at)
      at += LENGTH_BYTES
      row[name] = length === NULL_LENGTH ? null : readCell(type, text, { start: at, end: at + length })
      at += length === NULL_LENGTH ? 0 : length
    }
    rows.push(row)
  }
  return rows
}

function readCell(type: PhysicalType, bytes: Buffer, { start, end }: { readonly start: number; readonly end: number }): Cell {
  switch (type) {
    case 'integer':
      return readI64(bytes, start)
    case 'real':
      return bytes.readDoubleBE(start)
    case 'text':
      return bytes.toString('utf8', start, end)
    case 'bytes':
      return new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start)
  }
}
