/** Long scans in slices of ids, so that a table of any size never blocks the event loop. */
import type { Aggregate, Cell, Filter, Page, Row } from '../../core/ports/storage.ts'
import type { TableShape, TableShapes } from '../sql/table-shapes.ts'
import { mergeParts, partialAggregates, wholeAggregates } from './partial-aggregates.ts'
import type { RowWork } from './row-work.ts'
import type { TableWork } from './table-work.ts'

/** Runs work at once on the one snapshot of a scan. */
export type OnSnapshot = <T>(work: TableWork<T>) => T

/** Ids of the first slice; later ones are as wide as their time allows. */
const FIRST_SLICE = 4096
const MIN_SLICE_ROWS = 256
const SHORT_SLICE_MS = 2
const LONG_SLICE_MS = 5
/** How long slices may follow each other before the event loop turns. */
const MAX_BLOCK_MS = 8

export const EVERY: Filter = { kind: 'all' }
const NONE: Filter = { kind: 'or', filters: [] }

/** True if a find touches few rows, whatever the size of the table: then one statement is quicker than slices. */
export function isShortFind(shape: TableShape, filter: Filter, page: Page): boolean {
  if (isNarrow(shape, filter)) return true
  if ((page.offset ?? 0) >= FIRST_SLICE || page.limit >= FIRST_SLICE) return false
  if (filter.kind === 'all') return true
  // An index keeps rows of one value by id, so the page is read off it.
  return isOfOneValue(filter) && shape.table.indexes.some(({ columns }) => columns.length === 1 && columns[0] === filter.column)
}

function isOfOneValue(filter: Filter): filter is Extract<Filter, { readonly kind: 'compare' | 'in' }> {
  return filter.kind === 'in' ? filter.values.length < 2 : filter.kind === 'compare' && filter.operator === '='
}

/** True if an aggregate touches few rows: the minimum and maximum of a whole indexed column are at the ends of its index. */
export function isShortAggregate(shape: TableShape, filter: Filter, aggregates: readonly Aggregate[]): boolean {
  if (isNarrow(shape, filter) || aggregates.length === 0) return true
  const [only] = aggregates
  if (filter.kind !== 'all' || aggregates.length > 1 || (only?.kind !== 'min' && only?.kind !== 'max')) return false
  return only.column === 'id' || shape.table.indexes.some(({ columns }) => columns[0] === only.column)
}

/** Ids up to which SQLite counts a whole table in one statement: it adds up the row counts of its pages, a million rows in a few milliseconds. */
const MAX_COUNTED_AT_ONCE = 2_000_000

/** True for a count of all rows, which needs no look at them. */
export function isWholeCount(filter: Filter, aggregates: readonly Aggregate[]): boolean {
  return filter.kind === 'all' && aggregates.every(({ kind, column }) => kind === 'count' && column === undefined)
}

/** True if a table with this last row is counted at once. */
export function isCountedAtOnce(last: Row | undefined): boolean {
  return (last?.id ?? 0) <= MAX_COUNTED_AT_ONCE
}

/** True if the id or a unique index bounds the rows a filter can find by the values it names. */
export function isNarrow(shape: TableShape, filter: Filter): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.filters.some((part) => isNarrow(shape, part))
    case 'or':
      return filter.filters.every((part) => isNarrow(shape, part))
    case 'compare':
      return filter.operator === '=' && isUnique(shape, filter.column)
    case 'in':
      return filter.values.length < FIRST_SLICE && isUnique(shape, filter.column)
    default:
      return false
  }
}

function isUnique(shape: TableShape, column: string): boolean {
  if (column === 'id') return true
  return shape.table.indexes.some(({ unique, columns }) => unique && columns.length === 1 && columns[0] === column)
}

/** What a scan works with, and its table and filter. */
export interface SlicedScan {
  readonly rows: RowWork
  readonly run: OnSnapshot
  readonly table: string
  readonly filter: Filter
  /** Shared by all scans of a handle: many short ones in a row block the event loop as one long one does. */
  readonly yielder: Yielder
}

/** Lets the event loop turn where it has not turned for a while. */
export interface Yielder {
  /** True when the event loop has been blocked for so long that it must turn. */
  isDue(): boolean
  yield(): Promise<void>
}

export function createYielder(): Yielder {
  let yielded = performance.now()
  return {
    isDue: () => performance.now() - yielded >= MAX_BLOCK_MS,
    async yield() {
      await new Promise((resolve) => setImmediate(resolve))
      yielded = performance.now()
    },
  }
}

/** Ids `getInSlices` looks up at once; a longer list is worth slicing. */
export const IDS_AT_ONCE = 2000

/** `Storage.get`, slice after slice. */
export async function getInSlices(
  { rows, run, table, yielder }: SlicedScan,
  ids: readonly number[],
): Promise<readonly (Row | undefined)[]> {
  const found: (Row | undefined)[] = []
  for (let start = 0; start < ids.length; start += IDS_AT_ONCE) {
    for (const row of run(rows.get(table, ids.slice(start, start + IDS_AT_ONCE)))) found.push(row)
    if (yielder.isDue()) await yielder.yield()
  }
  return found
}

/** `Storage.find`, slice after slice. */
export async function findInSlices(scan: SlicedScan, page: Page): Promise<readonly Row[]> {
  const { rows, run, table } = scan
  const found: Row[] = []
  let offset = page.offset ?? 0
  await eachSlice(scan, page, (within, size) => {
    if (offset > 0) {
      const [matches] = run(rows.aggregate(table, within, [{ kind: 'count' }]))
      if (Number(matches) <= offset) {
        offset -= Number(matches)
        return false
      }
    }
    // A slice has no more rows than ids, and a read that knows its bound can be made for it.
    const limit = Math.min(page.limit - found.length, size)
    const shown = page.columns === undefined ? {} : { columns: page.columns }
    for (const row of run(rows.find(table, within, { order: page.order, limit, offset, ...shown }))) found.push(row)
    offset = 0
    return found.length >= page.limit
  })
  return found
}

/** `Storage.aggregate`, slice after slice; sums of reals may differ from one long sum in the last bit. */
export async function aggregateInSlices(
  scan: SlicedScan,
  aggregates: readonly Aggregate[],
  shapes: TableShapes,
): Promise<readonly Cell[]> {
  const { rows, run, table } = scan
  const parts = partialAggregates(aggregates, shapes.of(table))
  let cells = run(rows.aggregate(table, NONE, parts))
  await eachSlice(scan, { order: 'asc' }, (within) => {
    cells = mergeParts(parts, cells, run(rows.aggregate(table, within, parts)))
    return false
  })
  return wholeAggregates(aggregates, cells)
}

/** Visits slices in order until a visit returns true, and lets the event loop turn in between. Gaps in the ids are skipped. */
async function eachSlice(
  { rows, run, table, filter, yielder }: SlicedScan,
  { order, after }: Pick<Page, 'order' | 'after'>,
  visit: (within: Filter, size: number) => boolean,
): Promise<void> {
  let size = FIRST_SLICE
  let cursor = after
  for (;;) {
    const first = { order, limit: 1, columns: [] }
    const [next] = run(rows.find(table, EVERY, cursor === undefined ? first : { ...first, after: cursor }))
    if (next === undefined) return
    const low = order === 'asc' ? next.id : next.id - size + 1
    const high = low + size - 1
    const began = performance.now()
    const enough = visit(within(filter, low, high), size)
    size = nextSize(size, performance.now() - began)
    cursor = order === 'asc' ? high : low
    if (yielder.isDue()) await yielder.yield()
    if (enough) return
  }
}

function nextSize(size: number, milliseconds: number): number {
  if (milliseconds < SHORT_SLICE_MS) return size * 2
  return milliseconds > LONG_SLICE_MS ? Math.max(MIN_SLICE_ROWS, size >> 1) : size
}

function within(filter: Filter, low: number, high: number): Filter {
  return {
    kind: 'and',
    filters: [
      { kind: 'compare', column: 'id', operator: '>', value: low - 1 },
      { kind: 'compare', column: 'id', operator: '<', value: high + 1 },
      filter,
    ],
  }
}
