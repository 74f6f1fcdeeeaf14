/** Conversions from what drivers return to the cells of the port, and from rows to a part of a column. */

import type { BytesPart, ColumnCells, ColumnPage, Page, Row } from '../../core/ports/storage.ts'
import { toSlab } from '../../core/util/memory.ts'
import { damagedIntegerError } from '../errors/storage-errors.ts'

const INTEGER = /^-?[0-9]+$/

/** An integer in any of the forms drivers return: a number when it is safe, else a bigint. Throws `data_loss` for other text. */
export function toIntegerCell(value: number | bigint | string): number | bigint {
  if (typeof value === 'number') return value
  if (typeof value === 'string' && !INTEGER.test(value)) throw damagedIntegerError()
  const exact = typeof value === 'bigint' ? value : BigInt(value)
  const near = Number(exact)
  return Number.isSafeInteger(near) ? near : exact
}

/** The same bytes without the driver's class around them: a view, not a copy. */
export function toPlainBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** The page of rows that has a part of a column. */
export function rowsOfColumn({ column, after, limit }: ColumnPage): Page {
  return { order: 'asc', limit, columns: [column], ...(after === undefined ? {} : { after }) }
}

/** The cells of a column in the rows of that page. */
export function columnOfRows(rows: readonly Row[], { column, limit }: ColumnPage): ColumnCells {
  return { cells: rows.map(({ [column]: cell = null }) => cell), next: nextAfter(rows, limit) }
}

/** The bytes of a column in the rows of that page. */
export function bytesOfRows(rows: readonly Row[], { column, limit }: ColumnPage): BytesPart {
  const cells = rows.map(({ [column]: cell }) => (cell instanceof Uint8Array ? cell : NO_BYTES))
  return { ids: rows.map(({ id }) => id), cells: toSlab(cells), next: nextAfter(rows, limit) }
}

const NO_BYTES = new Uint8Array(0)

function nextAfter(rows: readonly Row[], limit: number): number | undefined {
  return rows.length < limit ? undefined : rows.at(-1)?.id
}
