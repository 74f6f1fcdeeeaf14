/** Turns of the event loop within long work: when one is due, work that is done a slice at a time, and rows of a table that are read a page at a time. */

import { isVaultError } from '../errors.ts'
import { type Filter, MAX_ROW_ID, type Page, type Row, type StorageReads } from '../ports/storage.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import { BODY } from '../schema/layout.ts'

/** The pace of work that goes on in one turn of the event loop after the other. */
export interface Pace {
  /** True if the work has held the event loop for a few milliseconds. */
  isDue(): boolean
  /** Call after each part of the work, with its bytes where they decide how long it takes: clocks can be coarse. Gives the event loop a turn if one is due. */
  worked(bytes?: number): Promise<void>
  /** Gives the event loop a turn. */
  turn(): Promise<void>
  /** The number of rows of the next slice of work that takes a turn after each: as many as a few milliseconds allow, by how long the last one took. */
  size(): number
}

/** Work between two turns: whichever of both is reached first. A part of the work can exceed it by its own length. */
const MAX_HELD_NS = 5_000_000n
const MAX_HELD_BYTES = 256 * 1024

/** Bounds in nanoseconds: slices that take less grow, and those that take more shrink. */
const SHORT_NS = 3_000_000n
const LONG_NS = 8_000_000n
/** Rows of the first slice. It is small, because each row can be large. */
const FIRST_SIZE = 16
const MAX_SIZE = 1000

/** Creates the pace of work that begins now. A turn is due after `maxHeldNs` nanoseconds. */
export function createPace(
  { clock, scheduler }: { readonly clock: Clock; readonly scheduler: Scheduler },
  maxHeldNs = MAX_HELD_NS,
): Pace {
  let began = clock.now()
  let done = 0
  let size = FIRST_SIZE
  const isDue = (): boolean => clock.now() - began >= maxHeldNs
  const turn = async (): Promise<void> => {
    size = nextSize(size, clock.now() - began)
    await scheduler.yield()
    began = clock.now()
    done = 0
  }
  return {
    isDue,
    turn,
    async worked(bytes = 0) {
      done += bytes
      if (done >= MAX_HELD_BYTES || isDue()) await turn()
    },
    size: () => size,
  }
}

function nextSize(size: number, tookNs: bigint): number {
  if (tookNs > LONG_NS) return Math.max(1, size >> 1)
  return tookNs < SHORT_NS ? Math.min(MAX_SIZE, size * 2) : size
}

/** The length of a list, and the bytes that decide how long the work on an item takes. */
export interface SlicedList {
  readonly count: number
  bytesAt(index: number): number
}

/** Work on the items from `start` to `end` (exclusive). */
type SliceWork<Result> = (start: number, end: number) => Result[] | Promise<Result[]>

/**
 * Returns the results of the work on each slice of a list, in order, with a turn of the event loop between two of them. A slice has at most 256 KiB
 * and at least one item. A list that is one slice takes no turn, and is no promise unless the work is.
 */
export function inSlices<Result>(list: SlicedList, scheduler: Scheduler, work: SliceWork<Result>): Result[] | Promise<Result[]> {
  const end = endFrom(list, 0)
  return end === list.count ? work(0, end) : workOnEach(list, scheduler, work)
}

async function workOnEach<Result>(list: SlicedList, scheduler: Scheduler, work: SliceWork<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (let start = 0; start < list.count; ) {
    if (start > 0) await scheduler.yield()
    const end = endFrom(list, start)
    for (const result of await work(start, end)) results.push(result)
    start = end
  }
  return results
}

function endFrom(list: SlicedList, start: number): number {
  let end = start
  for (let bytes = 0; end < list.count; end++) {
    bytes += list.bytesAt(end)
    if (bytes > MAX_HELD_BYTES && end > start) return end
  }
  return end
}

/** Does all work, with a turn of the event loop between two slices. `workSome` does one, and returns false after the last. */
export async function workInTurns(scheduler: Scheduler, workSome: () => boolean): Promise<void> {
  while (workSome()) await scheduler.yield()
}

/**
 * Does work while something else is waited for, such as a storage in another process. Resolves when `waited` has resolved and all work is done, a
 * slice in a turn of the event loop. If waiting takes longer than a turn, the work begins in that time, else after it. Rejects like `waited`,
 * whatever the work did, and no further slice is done then. A slice that throws is done again after `waited`. A storage that answers at once has
 * held the event loop itself, so a slice after it waits for a turn.
 */
export async function meanwhile(
  pace: Pick<Pace, 'turn' | 'worked'>,
  waited: Promise<void>,
  workSome: () => boolean,
): Promise<void> {
  let isOver = false
  let isDone = false
  async function workEarly(): Promise<void> {
    while (!isDone) {
      // What is waited for is sent within this turn, and the work would hold it up.
      await pace.turn()
      if (isOver) return
      isDone = !workSome()
    }
  }
  workEarly().catch(() => {})
  try {
    await waited
  } finally {
    isOver = true
  }
  await pace.worked()
  while (!isDone && workSome()) await pace.turn()
}

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

/** The rows with possible ids. */
const POSSIBLE_ROWS: Filter = { kind: 'compare', column: 'id', operator: '<', value: MAX_ROW_ID + 1 }

/**
 * Returns a filter of rows, with possible ids alone, for reads after an id of 0 or more. It has no lower bound: SQLite would begin each read of a walk
 * there, at the first row of the table.
 */
export function possibleRows(filter: Filter | undefined): Filter {
  return filter === undefined || filter.kind === 'all' ? POSSIBLE_ROWS : { kind: 'and', filters: [filter, POSSIBLE_ROWS] }
}

/** Returns the number of rows of a table that match. Default: all. */
export async function countMatches(storage: Pick<StorageReads, 'aggregate'>, table: string, filter?: Filter): Promise<number> {
  const [rows] = await storage.aggregate(table, filter ?? { kind: 'all' }, [{ kind: 'count' }])
  return Number(rows)
}

/** Returns the number of rows that match in all of these tables, for a progress; undefined if an engine stops at an id that no row can have. */
export async function countRows(
  storage: Pick<StorageReads, 'aggregate'>,
  tables: readonly { readonly table: string; readonly filter?: Filter }[],
): Promise<number | undefined> {
  let total = 0
  try {
    for (const { table, filter } of tables) total += await countMatches(storage, table, filter)
    return total
  } catch (error) {
    if (isVaultError(error, 'data_loss')) return undefined
    throw error
  }
}

/** Yields the pages of rows with possible ids, rising. */
export function eachPossiblePage(
  storage: Pick<StorageReads, 'find'>,
  table: string,
  { filter, ...walk }: Omit<PageWalk, 'order' | 'after'> = {},
): AsyncGenerator<readonly Row[]> {
  return eachPage(storage, table, { ...walk, after: 0, filter: possibleRows(filter) })
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
