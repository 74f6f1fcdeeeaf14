/** Reads rows from packed texts: of each row `id` and `version`, then of each cell its length and its bytes. */
import type { Cell, PhysicalType, Row } from '../../core/ports/storage.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import type { RawRow } from './driver-connection.ts'
import { fromStoredText } from './wire-cells.ts'

/** The lengths of a cell that is null, and of one too long to be packed. */
export const NULL_CELL = -1
export const LONG_CELL = -2

const NUMBER_BYTES = 8
const LENGTH_BYTES = 4

/** The rows of a packed result; undefined if a cell was too long, so that all must be read unpacked. */
export function unpackRows(shape: TableShape, result: readonly RawRow[]): Row[] | undefined {
  const rows: Row[] = []
  for (const [packed] of result) if (typeof packed === 'string' && !addRows(rows, shape, packed)) return undefined
  return rows
}

/** Adds the rows of one text. Returns false if a cell was too long. */
function addRows(rows: Row[], shape: TableShape, packed: string): boolean {
  const bytes = Buffer.from(packed, 'base64')
  const { columns } = shape.table
  let at = 0
  while (at < bytes.length) {
    const row: { id: number; version: number; [column: string]: Cell } = { ...shape.blank }
    row.id = readNumber(bytes, at)
    row.version = readNumber(bytes, at + NUMBER_BYTES)
    at += 2 * NUMBER_BYTES
    for (const { name, type } of columns) {
      const length = bytes.readInt32BE(at)
      if (length === LONG_CELL) return false
      at += LENGTH_BYTES
      row[name] = length === NULL_CELL ? null : readCell(type, bytes, { start: at, end: at + length })
      at += Math.max(length, 0)
    }
    rows.push(row)
  }
  return true
}

/** The cells of a packed column of numbers. */
export function unpackColumn(type: 'integer' | 'real', packed: string): Cell[] {
  const bytes = Buffer.from(packed, 'base64')
  const cells: Cell[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readInt32BE(at)
    const start = at + LENGTH_BYTES
    cells.push(length === NULL_CELL ? null : readCell(type, bytes, { start, end: start + length }))
    at = start + Math.max(length, 0)
  }
  return cells
}

/** A 64-bit integer, rounded if it is not safe. */
function readNumber(bytes: Buffer, at: number): number {
  return bytes.readInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4)
}

function readCell(type: PhysicalType, bytes: Buffer, { start, end }: { readonly start: number; readonly end: number }): Cell {
  switch (type) {
    case 'integer': {
      const near = readNumber(bytes, start)
      return Number.isSafeInteger(near) ? near : bytes.readBigInt64BE(start)
    }
    case 'real':
      return bytes.readDoubleBE(start)
    case 'text':
      return fromStoredText(bytes.toString('utf8', start, end))
    case 'bytes':
      return new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start)
  }
}
