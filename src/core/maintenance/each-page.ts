/** Walks the rows of a table by id, a page at a time: the one way to read more rows than fit in memory. */
import type { Scheduler } from '../ports/scheduler.ts'
import type { Filter, Page, Row, StorageReads } from '../ports/storage.ts'

/** Rows on a page by default. */
export const PAGE_SIZE = 500

/** Which rows are walked, in which order, and how many at a time. */
export interface PageWalk extends Partial<Pick<Page, 'order' | 'after' | 'columns'>> {
  /** Every row by default. */
  readonly filter?: Filter
  /** Rows on a page. Default 500. */
  readonly size?: number
  /** Where given, other work of the event loop runs between two pages. */
  readonly scheduler?: Scheduler
}

/** The pages, none of them empty. Rows that are added behind the walk are not seen; rows ahead of it are read as they are then. */
export async function* eachPage(
  storage: Pick<StorageReads, 'find'>,
  table: string,
  { filter = { kind: 'all' }, size = PAGE_SIZE, order = 'asc', after, columns, scheduler }: PageWalk = {},
): AsyncGenerator<readonly Row[]> {
  for (let from = after; ; ) {
    const start = from === undefined ? {} : { after: from }
    const rows = await storage.find(table, filter, {
      order,
      limit: size,
      ...start,
      ...(columns === undefined ? {} : { columns }),
    })
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    if (rows.length < size) return
    await scheduler?.yield()
    from = last.id
  }
}
