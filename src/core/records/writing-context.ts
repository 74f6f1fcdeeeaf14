/** The dependencies of writing records, besides a unit of work. */
import type { CatalogFence } from '../catalog/catalog-fence.ts'
import type { ReadingContext } from '../row-access/reading-context.ts'
import type { Table } from '../schema/layout.ts'

/** The dependencies of reading, and the event of the operation. */
export interface WritingContext extends ReadingContext {
  readonly catalog: Pick<CatalogFence, 'assertWritable' | 'hiddenTokenIds' | 'holdsFiles'>
  readonly event: {
    /** Sets the written rows, in place of any set before: a write may have run again. */
    setWrittenRows(table: Table, rows: readonly number[]): void
  }
}
