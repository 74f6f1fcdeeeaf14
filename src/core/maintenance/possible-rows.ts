/** Reads tables in which a writer of the database can have changed row ids: the rows with possible ids, and whether there are others. */
import { MAX_ROW_ID, type Row, type StorageReads } from '../ports/storage.ts'
import { eachPage, type PageWalk } from './each-page.ts'

/** True for an id that a row can have. Beyond 2^53 an id is not exact as a number, so that reading cannot go on from it. */
export function isRowId(id: unknown): boolean {
  return typeof id === 'number' && Number.isInteger(id) && id >= 1 && id <= MAX_ROW_ID
}

/** Yields the pages of rows with possible ids, rising. */
export function eachPossiblePage(
  storage: Pick<StorageReads, 'find'>,
  table: string,
  { filter, ...walk }: Omit<PageWalk, 'order' | 'after'> = {},
): AsyncGenerator<readonly Row[]> {
  const upTo = { kind: 'compare', column: 'id', operator: '<', value: MAX_ROW_ID + 1 } as const
  return eachPage(storage, table, {
    ...walk,
    after: 0,
    filter: filter === undefined ? upTo : { kind: 'and', filters: [filter, upTo] },
  })
}

/** Returns the row with the lowest and that with the highest id of a table, if no row can have such an id. There may be more of them. */
export async function findImpossibleRows(
  storage: Pick<StorageReads, 'find'>,
  table: string,
  columns: readonly string[] = [],
): Promise<{ readonly lowest: Row | undefined; readonly highest: Row | undefined }> {
  const [lowest] = await storage.find(table, { kind: 'all' }, { order: 'asc', limit: 1, columns })
  const [highest] = await storage.find(table, { kind: 'all' }, { order: 'desc', limit: 1, columns })
  return {
    lowest: lowest !== undefined && lowest.id < 1 ? lowest : undefined,
    highest: highest !== undefined && highest.id > MAX_ROW_ID ? highest : undefined,
  }
}
