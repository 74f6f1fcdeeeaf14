/** Reads the rows of a table by id, a page at a time, when they may not fit into memory. */

import type { Filter, Page, Row, StorageReads } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import { createPageSize, type PageSize } from './page-size.ts'

/** The rows to read, their order, and the size of a page. */
export interface PageWalk extends Partial<Pick<Page, 'order' | 'after' | 'columns'>> {
  /** Default: all rows. */
  readonly filter?: Filter
  /** Maximum number of rows of a page, or of each next page. Default: by the bytes of the rows. */
  readonly size?: number | PageSize
  /** Yields to the event loop between two pages. Default: does not yield. */
  readonly scheduler?: Scheduler
}

/** Yields the pages. A page is never empty. Rows inserted before the current page are not seen; later rows are read in their state at that time. */
export async function* eachPage(
  storage: Pick<StorageReads, 'find'>,
  table: string,
  { filter = { kind: 'all' }, size = createPageSize(), order = 'asc', after, columns, scheduler }: PageWalk = {},
): AsyncGenerator<readonly Row[]> {
  for (let from = after; ; ) {
    const start = from === undefined ? {} : { after: from }
    const limit = typeof size === 'number' ? size : size.next()
    const rows = await storage.find(table, filter, {
      order,
      limit,
      ...start,
      ...(columns === undefined ? {} : { columns }),
    })
    const last = rows.at(-1)
    if (last === undefined) return
    if (typeof size !== 'number') size.read(rows)
    yield rows
    if (rows.length < limit) return
    await scheduler?.yield()
    from = last.id
  }
}
