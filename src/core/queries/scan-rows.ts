/** Reads a table for a query: page after page by id, in slices short enough that others are answered meanwhile. */
import type { Filter, Page, Row, StorageReads } from '../ports/storage.ts'
import type { SourcePlan } from '../sql/plan.ts'
import type { StoreContext } from '../stores/store-context.ts'
import { at } from '../util/at.ts'
import type { HeldRow } from './held-row.ts'
import type { Pace } from './pace.ts'
import type { Sift } from './sift-rows.ts'
import { createSift } from './sift-rows.ts'

/** Rows on the first page: often all that is needed, and few enough for an engine to hand over as they are. */
const FIRST_PAGE_SIZE = 64
/** Rows on a page at most. */
const MAX_PAGE_SIZE = 1000
/** Bytes and characters a page should have at most, judged by the page before. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024
/** Rows and bytes opened between two turns of the event loop: few at first, more where that takes little time. */
const FIRST_SLICE_SIZE = 64
const MAX_SLICE_SIZE = 500
const MAX_SLICE_BYTES = 512 * 1024

/** What reading takes. */
export type ScanContext = Pick<StoreContext, 'barrier'> & { readonly storage: StorageReads }

/** What is to be read. */
export interface Scan {
  readonly plan: SourcePlan
  readonly pace: Pace
  /** Asked of storage beside the plan's own filter. */
  readonly also?: Filter
  /** Rows after which nobody asks for more. */
  readonly most?: number
}

/** The rows of one source that take part, in order of insertion, some at a time. A list is never empty. */
export async function* scanRows(
  { storage, barrier }: ScanContext,
  { plan, pace, also, most = Number.POSITIVE_INFINITY }: Scan,
): AsyncGenerator<HeldRow[]> {
  const sift = createSift(barrier, plan)
  const { columns } = sift
  const filter = both(plan.filter, also)
  const state: ScanState = { wanted: most, size: FIRST_SLICE_SIZE }
  let page: Page = { order: 'up', limit: FIRST_PAGE_SIZE, columns }
  while (state.wanted > 0) {
    const rows = await storage.find(plan.source.table.physical.name, filter, page)
    // What the caller may not see must not spend what he has: of rows that are judged only those count that take part.
    if (!plan.isJudged) pace.read(rows.length)
    yield* filterSlices(rows, state, { sift, plan, pace, isFirst: page.after === undefined })
    const last = rows.at(-1)
    if (last === undefined || rows.length < page.limit) return
    page = { order: 'up', limit: nextLimit(rows), after: last.id, columns }
  }
}

/** How many rows are still wanted, and how many are opened at a time. */
interface ScanState {
  wanted: number
  size: number
}

interface Slicing {
  readonly sift: Sift
  readonly plan: SourcePlan
  readonly pace: Pace
  readonly isFirst: boolean
}

/** The rows of one page that take part, slice by slice. */
async function* filterSlices(
  rows: readonly Row[],
  state: ScanState,
  { sift, plan, pace, isFirst }: Slicing,
): AsyncGenerator<HeldRow[]> {
  let end = 0
  for (let start = 0; start < rows.length; start = end) {
    end = endOfSlice(rows, start, state.size)
    const buffered = sift.sift(rows.slice(start, end), state.wanted)
    if (plan.isJudged) pace.read(buffered.length)
    const isDue = pace.isDue()
    state.size = nextSize(state.size, isDue)
    state.wanted -= buffered.length
    if (buffered.length > 0) yield buffered
    if (state.wanted <= 0) return
    // Many queries end with their first page: those need not wait for a turn.
    if (isDue || !isFirst) await pace.turn()
  }
}

function both(filter: Filter, also: Filter | undefined): Filter {
  if (also === undefined) return filter
  return filter.kind === 'every' ? also : { kind: 'and', filters: [also, filter] }
}

/** Slices grow while they take little time. */
function nextSize(size: number, isDue: boolean): number {
  return isDue ? Math.max(1, size >> 2) : Math.min(MAX_SLICE_SIZE, size * 2)
}

/** As many rows as fit a page if they are as long as these. */
function nextLimit(rows: readonly Row[]): number {
  const bytes = rows.reduce((sum, row) => sum + bytesOf(row), 0)
  const fitting = Math.floor((MAX_PAGE_BYTES / Math.max(bytes, 1)) * rows.length)
  return Math.max(1, Math.min(MAX_PAGE_SIZE, fitting))
}

/** Where a slice of at most so many rows ends; at least one row, however long. */
function endOfSlice(rows: readonly Row[], start: number, size: number): number {
  const limit = Math.min(rows.length, start + size)
  let bytes = 0
  let end = start
  while (end < limit && bytes < MAX_SLICE_BYTES) {
    bytes += bytesOf(at(rows, end))
    end++
  }
  return end
}

function bytesOf(row: Row): number {
  let bytes = 0
  for (const column in row) {
    const cell = row[column]
    if (cell instanceof Uint8Array || typeof cell === 'string') bytes += cell.length
  }
  return bytes
}
