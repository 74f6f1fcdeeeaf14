/** A part of a column, read as rows. */
import type { BytesPart, ColumnCells, ColumnPage, Page, Row } from '../../core/ports/storage.ts'
import { toSlab } from '../../core/util/memory.ts'

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
