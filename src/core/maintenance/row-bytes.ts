/** Slices of rows by their size: a slice of few long rows takes as long as one of many short rows. */
import type { Row } from '../ports/storage.ts'
import { BODY } from '../schema/layout.ts'

/** Estimated bytes of a row: its texts and byte strings. */
export function bytesOfRow(row: Row): number {
  let bytes = 0
  for (const column in row) {
    const cell = row[column]
    if (cell instanceof Uint8Array || typeof cell === 'string') bytes += cell.length
  }
  return bytes
}

/** Bytes of the sealed body of a row; 0 without one. */
export function bytesOfBody(row: Row | undefined): number {
  const body = row?.[BODY]
  return body instanceof Uint8Array ? body.length : 0
}

/** Estimated bytes of rows. */
export function bytesOfRows(rows: readonly Row[]): number {
  return rows.reduce((sum, row) => sum + bytesOfRow(row), 0)
}

/** Returns the end of a slice that begins at `start`: at most `size` rows, and none after the row that reaches `maxBytes`. It has at least one row of any length. */
export function endOfSlice(
  rows: readonly Row[],
  start: number,
  { size, maxBytes }: { readonly size: number; readonly maxBytes: number },
): number {
  const limit = Math.min(rows.length, start + size)
  let bytes = 0
  let end = start
  for (let row = rows[end]; row !== undefined && end < limit && bytes < maxBytes; row = rows[end]) {
    bytes += bytesOfRow(row)
    end++
  }
  return end
}
