/** Reads the rows of a table by id, a page at a time, when they may not fit into memory, and slices rows by their bytes. */

import { type Filter, MAX_ROW_ID, type Page, type Row, type StorageReads } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import { BODY } from '../schema/layout.ts'
import type { SlicedList } from './pace.ts'

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

/** The sizes of the pages of one walk. */
export interface PageSize {
  /** Returns the number of rows of the next page. */
  next(): number
  /** Takes the page that was read. */
  read(rows: readonly Row[]): void
}

/** Numbers of rows of the first page, and of any. */
interface PageSizeOptions {
  readonly first?: number
  readonly max?: number
}

/** Default number of rows of the first page. */
const FIRST_ROWS = 16
/** Default maximum: even if much longer rows follow short ones, a page of this many is read in a few milliseconds. */
const MAX_ROWS = 128
/** Factor by which pages grow at most. */
const MAX_GROWTH = 4
/** Bytes that a page should have. */
const TARGET_BYTES = 256 * 1024

/** Creates the sizes of the pages of a walk that begins now. */
export function createPageSize({ first = FIRST_ROWS, max = MAX_ROWS }: PageSizeOptions = {}): PageSize {
  let size = first
  return {
    next: () => size,
    read(rows) {
      if (rows.length === 0) return
      const bytes = bytesOfRows(rows)
      const fitting = Math.floor((TARGET_BYTES * rows.length) / Math.max(bytes, 1))
      size = Math.max(1, Math.min(fitting, size * MAX_GROWTH, max))
    },
  }
}

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

/** Returns rows as a list whose work is to open their bodies. */
export function byBodies(rows: readonly (Row | undefined)[]): SlicedList {
  return { count: rows.length, bytesAt: (index) => bytesOfBody(rows[index]) }
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
