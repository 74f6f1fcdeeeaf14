/** What writing records uses beside a unit of work, which is passed by hand. */
import type { ReadingContext } from '../row-access/reading-context.ts'
import type { Table } from '../schema/layout.ts'

/** Writes records, and tells the event of the operation which rows. */
export interface WritingContext extends ReadingContext {
  readonly event: {
    /** Names the rows that were written, in place of any named before: a write may have been tried again. */
    setWrittenRows(table: Table, rows: readonly number[]): void
  }
}
