/** Reads a table for a query: page after page by id, in slices short enough that others are answered meanwhile. */
import type { Filter, Page, Row } from '../ports/storage.ts'
import { BODY } from '../schema/layout.ts'
import type { SourcePlan } from '../sql/plan.ts'
import type { StoreContext } from '../stores/store-context.ts'
import type { HeldRow } from './held-row.ts'
import type { Pace } from './pace.ts'
import { createSift } from './sift-rows.ts'

/** Rows on the first page: often all that is needed, and few enough for an engine to hand over as they are. */
const FIRST_PAGE = 64
/** Rows on a page at most. */
const LONGEST_PAGE = 1000
/** Bytes of bodies a page should have at most, judged by the page before. */
const PAGE_BYTES = 4 * 1024 * 1024
/** Rows and bytes opened between two turns of the event loop: few at first, more where that takes little time. */
const FIRST_SLICE = 64
const LONGEST_SLICE = 500
const SLICE_BYTES = 512 * 1024

/** What reading takes. */
export type ScanContext = Pick<StoreContext, 'storage' | 'barrier'>

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
  const { sift, columns } = createSift(barrier, plan)
  const filter = both(plan.filter, also)
  let wanted = most
  let page: Page = { order: 'up', limit: FIRST_PAGE, columns }
  let size = FIRST_SLICE
  while (wanted > 0) {
    const rows = await storage.find(plan.source.table.physical.name, filter, page)
    pace.read(rows.length)
    let end = 0
    for (let start = 0; start < rows.length; start = end) {
      end = endOfSlice(rows, start, size)
      const held = sift(rows.slice(start, end), wanted)
      const isDue = pace.isDue()
      size = isDue ? Math.max(1, size >> 2) : Math.min(LONGEST_SLICE, size * 2)
      wanted -= held.length
      if (held.length > 0) yield held
      if (wanted <= 0) return
      // Many queries end with their first page: those need not wait for a turn.
      if (isDue || page.after !== undefined) await pace.turn()
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < page.limit) return
    page = { order: 'up', limit: nextLimit(rows), after: last.id, columns }
  }
}

function both(filter: Filter, also: Filter | undefined): Filter {
  if (also === undefined) return filter
  return filter.kind === 'every' ? also : { kind: 'and', filters: [also, filter] }
}

/** As many rows as fit a page if they are as long as these. */
function nextLimit(rows: readonly Row[]): number {
  const bytes = rows.reduce((sum, row) => sum + bytesOf(row), 0)
  const fitting = Math.floor((PAGE_BYTES / Math.max(bytes, 1)) * rows.length)
  return Math.max(1, Math.min(LONGEST_PAGE, fitting))
}

/** Where a slice of at most so many rows ends; at least one row, however long. */
function endOfSlice(rows: readonly Row[], start: number, size: number): number {
  const most = Math.min(rows.length, start + size)
  let bytes = 0
  let end = start
  while (end < most && bytes < SLICE_BYTES) {
    const row = rows[end++]
    bytes += row === undefined ? 0 : bytesOf(row)
  }
  return end
}

function bytesOf(row: Row): number {
  const body = row[BODY]
  return body instanceof Uint8Array ? body.length : 0
}
