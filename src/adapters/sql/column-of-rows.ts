/** A part of a column, read as rows. */
import type { ColumnCells, ColumnPage, Page, Row } from '../../core/ports/storage.ts'

/** The page of rows that has a part of a column. */
export function rowsOfColumn({ column, after, limit }: ColumnPage): Page {
  return { order: 'asc', limit, columns: [column], ...(after === undefined ? {} : { after }) }
}

/** The cells of a column in the rows of that page. */
export function columnOfRows(rows: readonly Row[], { column, limit }: ColumnPage): ColumnCells {
  return { cells: rows.map(({ [column]: cell = null }) => cell), next: rows.length < limit ? undefined : rows.at(-1)?.id }
}
