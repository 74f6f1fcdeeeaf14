/** Long scans in slices of ids, and the turns between them, so that a table of any size never blocks the event loop. */
import type { Aggregate, Cell, Filter, Page, Row } from '../../core/ports/storage.ts'
import { damagedIdError } from '../errors/storage-errors.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import {
  type AccessPath,
  BY_ID,
  conjuncts,
  expandLists,
  FIRST_SLICE,
  type IndexedPart,
  indexedPart,
  isIdBound,
} from './access-path.ts'
import { aggregateRows, countUpTo, idsUpTo, mergeAggregates } from './aggregates.ts'
import type { TableWork } from './connection.ts'
import { findRows, getRows, rowsAtOnce } from './read-rows.ts'

/** Runs work on the one snapshot of a scan, or in its transaction. Returns a promise only if the connection is asynchronous. */
export type OnSnapshot = <T>(work: TableWork<T>) => T | Promise<T>

/** Slices after the first are as wide as their time allows. */
const MIN_SLICE_ROWS = 256
const SHORT_SLICE_MS = 2
const LONG_SLICE_MS = 5

export const EVERY: Filter = { kind: 'all' }
const NONE: Filter = { kind: 'or', filters: [] }

/** What a scan works with, and its table and filter. */
interface SlicedScan {
  readonly run: OnSnapshot
  readonly shape: TableShape
  readonly filter: Filter
  /** Shared by all reads of a handle. */
  readonly yielder: Yielder
}

/** Ids looked up in one statement at most, and rows that an index finds in one; more are worth slicing. */
export const ROWS_AT_ONCE = 2000
/** Entries of an index read in one statement, if no row is. */
const ENTRIES_AT_ONCE = 50_000

/** `Storage.get`, slice after slice. */
export async function getInSlices(
  { run, shape, yielder }: SlicedScan,
  ids: readonly number[],
  columns?: readonly string[],
): Promise<readonly (Row | undefined)[]> {
  const found: (Row | undefined)[] = []
  let size = 0
  for (let start = 0; start < ids.length; start += size) {
    if (yielder.isDue()) await yielder.ownTurn()
    size = longer(size, rowsAtOnce(shape, columns))
    for (const row of await run(getRows(shape, ids.slice(start, start + size), columns))) found.push(row)
  }
  return found
}

/** Rows of the next statement: at most twice those before, because longer ones may follow. */
function longer(size: number, atOnce: number): number {
  return Math.min(ROWS_AT_ONCE, atOnce, size === 0 ? atOnce : size * 2)
}

/** `Storage.find`: by an index if it finds few rows, else slice after slice. */
export async function findInSlices(scan: SlicedScan, page: Page): Promise<readonly Row[]> {
  const { run, shape, yielder } = scan
  // A list of many values is looked up for milliseconds before the first slice, and callers look up several.
  if (yielder.isDue()) await yielder.ownTurn()
  const { filter, path, isWhole, ids } = await route(scan, ROWS_AT_ONCE, isCovered(scan, []))
  if (ids !== undefined) return getInSlices(scan, idsOnPage(ids, page), page.columns).then(existing)
  if (isWhole) return findByIndex(scan, page, path)
  const found: Row[] = []
  const shown = page.columns === undefined ? {} : { columns: page.columns }
  let offset = page.offset ?? 0
  let atOnce = 0
  await eachSlice({ ...scan, filter }, page, async (within, size) => {
    if (offset > 0) {
      const [matches] = await run(aggregateRows({ shape, filter: within, path }, [{ kind: 'count' }]))
      if (Number(matches) <= offset) {
        offset -= Number(matches)
        return {}
      }
    }
    atOnce = longer(atOnce, rowsAtOnce(shape, page.columns))
    // A slice has no more rows than ids, and a read that knows its bound can be made for it.
    const limit = Math.min(page.limit - found.length, size, atOnce)
    const some = await run(findRows(shape, within, { order: page.order, limit, offset, ...shown }, path))
    for (const row of some) found.push(row)
    offset = 0
    // More rows of this slice may be left.
    return { isEnough: found.length >= page.limit, upTo: some.length < limit ? undefined : some.at(-1)?.id }
  })
  return found
}

/** Finds ids first, which are short, and then their rows by length. */
async function findByIndex(scan: SlicedScan, page: Page, path: AccessPath): Promise<readonly Row[]> {
  const { run, shape, filter } = scan
  if (page.limit <= rowsAtOnce(shape, page.columns)) return run(findRows(shape, filter, page, path))
  const ids = (await run(findRows(shape, filter, { ...page, columns: [] }, path))).map(({ id }) => id)
  return existing(await getInSlices(scan, ids, page.columns))
}

/** Those of all ids that are on a page, in its order. */
function idsOnPage(ids: readonly number[], { order, after, limit, offset = 0 }: Page): readonly number[] {
  const sorted = ids.toSorted(order === 'asc' ? (left, right) => left - right : (left, right) => right - left)
  const start = after === undefined ? 0 : sorted.findIndex((id) => (order === 'asc' ? id > after : id < after))
  return start < 0 ? [] : sorted.slice(start + offset, start + offset + limit)
}

function existing(rows: readonly (Row | undefined)[]): readonly Row[] {
  return rows.filter((row) => row !== undefined)
}

/** `Storage.aggregate`: by an index if it finds few rows, else slice after slice; sums of reals may differ from one long sum in the last bit. */
export async function aggregateInSlices(scan: SlicedScan, aggregates: readonly Aggregate[]): Promise<readonly Cell[]> {
  const { run, shape } = scan
  const { filter, path, isWhole } = await route(scan, isCovered(scan, aggregates) ? ENTRIES_AT_ONCE : ROWS_AT_ONCE)
  if (isWhole) return run(aggregateRows({ shape, filter, path }, aggregates))
  let cells = await run(aggregateRows({ shape, filter: NONE, path: BY_ID }, aggregates))
  await eachSlice({ ...scan, filter }, { order: 'asc' }, async (within) => {
    cells = mergeAggregates(aggregates, cells, await run(aggregateRows({ shape, filter: within, path }, aggregates)))
    return {}
  })
  return cells
}

/** How a scan reads: in one statement by an index, or in slices of ids along a path. */
interface Route {
  readonly filter: Filter
  readonly path: AccessPath
  readonly isWhole: boolean
  /** Of all rows that match, if they were listed. */
  readonly ids?: readonly number[]
}

/**
 * Slices of ids must never be read by an index over something else: each would read the whole index. An index of one value holds
 * its rows by id, so it is sliced as the table is. Any other index is read at once where it finds at most `atOnce` rows. With
 * `listsIds`, which only an index that holds all that the filter reads allows, their ids are listed: in place of counted if the filter is nothing but
 * bounds of the index, else after that, because few of the many rows of a range may match.
 */
async function route({ run, shape, filter }: SlicedScan, atOnce: number, listsIds = false): Promise<Route> {
  const expanded = expandLists(shape, filter)
  const indexed = indexedPart(shape, expanded)
  if (indexed === undefined) return { filter, path: BY_ID, isWhole: false }
  const { path, bounds, isInOrder, maxRows } = indexed
  if (isInOrder) return { filter, path, isWhole: false }
  // Listing ends at its limit only where each entry that is read is a match.
  const isAllBounds = conjuncts(expanded).length === conjuncts(bounds).length
  if (!(listsIds && isAllBounds) && (maxRows === undefined || maxRows > atOnce)) {
    const matches = await run(countUpTo({ shape, filter: bounds, path }, atOnce + 1))
    if (matches > atOnce) return { filter, path: BY_ID, isWhole: false }
  }
  if (!listsIds) return { filter, path, isWhole: true }
  const ids = await run(idsUpTo({ shape, filter: expanded, path }, atOnce + 1))
  if (ids.length > atOnce) return { filter, path: BY_ID, isWhole: false }
  // An id that was changed in the database to one that no row can have is read with its row.
  return ids.every(Number.isSafeInteger) ? { filter, path, isWhole: true, ids } : { filter, path, isWhole: true }
}

/** True if one index holds all that a filter and aggregates read. */
function isCovered({ shape, filter }: SlicedScan, aggregates: readonly Aggregate[]): boolean {
  const expanded = expandLists(shape, filter)
  const indexed: IndexedPart | undefined = indexedPart(shape, expanded)
  if (indexed === undefined) return false
  const holds = (column: string | undefined) => column === undefined || column === 'id' || column === indexed.column
  const reads = (part: Filter) => 'column' in part && holds(part.column)
  return conjuncts(expanded).every(reads) && aggregates.every(({ column }) => holds(column))
}

/** What a visit to a slice did: whether that is all, and the last id it came to, if not the end of the slice. */
interface Visited {
  readonly isEnough?: boolean
  readonly upTo?: number | undefined
}

/** Visits slices in order until a visit says that it is enough or the filter ends the ids, and lets the event loop turn in between. Gaps in the ids are skipped. */
async function eachSlice(
  { run, shape, filter, yielder }: SlicedScan,
  { order, after }: Pick<Page, 'order' | 'after'>,
  visit: (within: Filter, size: number) => Promise<Visited>,
): Promise<void> {
  const within = sliceOf(filter)
  // SQLite reads every list again for each slice, so a slice has at least as many ids as the lists have values.
  const least = Math.max(MIN_SLICE_ROWS, listedValues(filter))
  let size = Math.max(FIRST_SLICE, least)
  let cursor = after
  for (;;) {
    if (yielder.isDue()) await yielder.ownTurn()
    const range = await nextRange(run, { shape, filter }, { order, after: cursor, size })
    if (range === undefined) return
    if (range === DAMAGED_ID) throw damagedIdError(shape.name)
    const began = performance.now()
    const { isEnough, upTo } = await visit(within(range), size)
    size = Math.max(least, nextSize(size, performance.now() - began))
    cursor = upTo ?? (order === 'asc' ? range.high : range.low)
    if (isEnough === true) return
  }
}

/** A range of ids, both ends included. */
export interface IdRange {
  readonly low: number
  readonly high: number
}

/** In place of a range: the next id is one that no row can have, because it was changed in the database. */
export const DAMAGED_ID = 'damaged id'

/** The next `size` ids in an order, from the first that a row has: gaps are skipped. Undefined if no row that the filter allows follows. */
export async function nextRange(
  run: OnSnapshot,
  { shape, filter }: Pick<SlicedScan, 'shape' | 'filter'>,
  { order, after, size }: Pick<Page, 'order'> & { readonly after: number | undefined; readonly size: number },
): Promise<IdRange | typeof DAMAGED_ID | undefined> {
  const first = { order, limit: 1, columns: [] }
  const [next] = await run(findRows(shape, EVERY, after === undefined ? first : { ...first, after }))
  if (next === undefined || endsBefore(filter, order, next.id)) return undefined
  const low = order === 'asc' ? next.id : next.id - size + 1
  const high = low + size - 1
  return Number.isSafeInteger(low - 1) && Number.isSafeInteger(high + 1) ? { low, high } : DAMAGED_ID
}

/** True if the filter allows no row from this id on. */
function endsBefore(filter: Filter, order: Page['order'], id: number): boolean {
  return conjuncts(filter).some((part) => {
    if (!isIdBound(part)) return false
    if (order === 'asc') return part.operator === '<' && id >= Number(part.value)
    return part.operator === '>' && id <= Number(part.value)
  })
}

function nextSize(size: number, milliseconds: number): number {
  if (milliseconds < SHORT_SLICE_MS) return size * 2
  return milliseconds > LONG_SLICE_MS ? size >> 1 : size
}

function listedValues(filter: Filter): number {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.filters.reduce((sum, part) => sum + listedValues(part), 0)
    case 'not':
      return listedValues(filter.filter)
    case 'in':
      return filter.column === 'id' ? 0 : filter.values.length
    default:
      return 0
  }
}

/** Returns the filter of each slice. Of a list of ids it has those of the slice only, because SQLite looks up every id of a list. */
export function sliceOf(filter: Filter): (range: IdRange) => Filter {
  const parts = conjuncts(filter).map((part) => {
    if (part.kind !== 'in' || part.column !== 'id') return () => part
    const ids = part.values.map(Number).sort((left, right) => left - right)
    return ({ low, high }: IdRange): Filter => ({
      ...part,
      values: ids.slice(firstFrom(ids, low), firstFrom(ids, high + 1)),
    })
  })
  return (range) => ({
    kind: 'and',
    filters: [
      { kind: 'compare', column: 'id', operator: '>', value: range.low - 1 },
      { kind: 'compare', column: 'id', operator: '<', value: range.high + 1 },
      ...parts.map((part) => part(range)),
    ],
  })
}

/** The position of the first id that is at least `wanted`, by binary search. */
function firstFrom(ids: readonly number[], wanted: number): number {
  let low = 0
  let high = ids.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (Number(ids[middle]) < wanted) low = middle + 1
    else high = middle
  }
  return low
}

/** Knows how long the event loop has not turned. All reads of a handle share one. */
export interface Yielder {
  /** True when the event loop has been held for so long that it must turn. */
  isDue(): boolean
  /** Waits for the next turn. */
  yield(): Promise<void>
  /** Waits for a turn that no other caller of this gets: work that goes on for as long as it may must not follow other such work. */
  ownTurn(): Promise<void>
}

/** How long reads may follow each other before the yielder looks whether the event loop turns by itself, and then until it must. */
const MAX_HOLD_MS = 4

export function createYielder(): Yielder {
  let turned = performance.now()
  /** When the look began; undefined if none is under way. */
  let lookedSince: number | undefined
  /** Ends with the last turn that was promised to one caller. */
  let lastOwn: Promise<void> = Promise.resolve()

  async function nextTurn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    noteTurn()
  }

  function noteTurn(): void {
    turned = performance.now()
    lookedSince = undefined
  }

  return {
    isDue() {
      const now = performance.now()
      if (now - turned < MAX_HOLD_MS) return false
      // The event loop may have turned while nothing was read: a read that comes alone must not wait for a turn.
      if (lookedSince === undefined) {
        lookedSince = now
        setImmediate(noteTurn)
        return false
      }
      return now - lookedSince >= MAX_HOLD_MS
    },
    yield: nextTurn,
    ownTurn() {
      lastOwn = lastOwn.then(nextTurn)
      return lastOwn
    },
  }
}

/** Of a transaction in which the event loop must not turn. */
export const NO_TURNS: Yielder = {
  isDue: () => false,
  yield: () => Promise.resolve(),
  ownTurn: () => Promise.resolve(),
}
