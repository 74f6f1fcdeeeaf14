/** Reads one column of many rows. Their bodies are opened in slices, because the body of a row is opened as a whole. */
import { columnValues } from '../barrier/reveal.ts'
import { inSlices } from '../maintenance/in-slices.ts'
import { bytesOfBody } from '../maintenance/row-bytes.ts'
import type { Row } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import type { ReadingContext } from './reading-context.ts'

/** As `columnValues`, with a turn of the event loop between two slices. No promise if it is one slice. */
export function valuesInSlices(
  { barrier, scheduler }: Pick<ReadingContext, 'barrier' | 'scheduler'>,
  { table, column }: { readonly table: Table; readonly column: Column },
  rows: readonly Row[],
): unknown[] | Promise<unknown[]> {
  const list = { count: rows.length, bytesAt: (index: number) => bytesOfBody(rows[index]) }
  return inSlices(list, scheduler, (start, end) => columnValues(barrier, table, column, rows.slice(start, end)))
}
