/** Reads a table for a query: page by page in order of id, in slices short enough to keep the event loop responsive. */
import type { Barrier } from '../barrier/barrier.ts'
import { LongMatch } from '../expressions/like.ts'
import { bytesOfRow, endOfSlice } from '../maintenance/row-bytes.ts'
import type { Filter, Page, Row, StorageReads } from '../ports/storage.ts'
import type { SourcePlan } from '../sql/plan.ts'
import type { BudgetMeter } from './budget-meter.ts'
import type { BufferedRow } from './buffered-row.ts'
import type { ResidualFilter } from './residual-filter.ts'
import { createResidualFilter } from './residual-filter.ts'

/** Rows of the first page. It is often enough, and engines return so few without slicing. */
const FIRST_PAGE_SIZE = 64
/** Maximum rows of a page. */
const MAX_PAGE_SIZE = 1000
/** Target size of a page in bytes and characters, estimated from the page before. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024
/** Rows and bytes opened between two yields. Slices start small and grow while they take little time. */
const FIRST_SLICE_SIZE = 64
const MAX_SLICE_SIZE = 500
const MAX_SLICE_BYTES = 512 * 1024

/** What reading needs. */
export interface ScanContext {
  readonly storage: StorageReads
  readonly barrier: Barrier
}

/** One scan of a table. */
export interface Scan {
  readonly plan: SourcePlan
  readonly meter: BudgetMeter
  /** A filter that storage evaluates in addition to the plan's own. */
  readonly extraFilter?: Filter
  /** Number of rows after which no more are needed. */
  readonly limit?: number
}

/** Yields the visible rows of one source in order of insertion, in batches. A batch is never empty. */
export async function* scanRows(
  { storage, barrier }: ScanContext,
  { plan, meter, extraFilter, limit: max = Number.POSITIVE_INFINITY }: Scan,
): AsyncGenerator<BufferedRow[]> {
  const residual = createResidualFilter(barrier, plan)
  const { columns } = residual
  const filter = both(plan.filter, extraFilter)
  const state: ScanState = { wanted: max, size: FIRST_SLICE_SIZE }
  let page: Page = { order: 'asc', limit: FIRST_PAGE_SIZE, columns }
  while (state.wanted > 0) {
    const rows = await storage.find(plan.source.table.physical.name, filter, page)
    // Rows hidden from the caller do not count against the row budget; otherwise the budget would reveal how many there are.
    if (!plan.isConditional) meter.addRowsRead(rows.length)
    yield* filterSlices(rows, state, { residual, plan, meter, isFirst: page.after === undefined })
    const last = rows.at(-1)
    if (last === undefined || rows.length < page.limit) return
    page = { order: 'asc', limit: nextLimit(rows), after: last.id, columns }
  }
}

/** Rows still needed, and rows opened per slice. */
interface ScanState {
  wanted: number
  size: number
}

interface Slicing {
  readonly residual: ResidualFilter
  readonly plan: SourcePlan
  readonly meter: BudgetMeter
  readonly isFirst: boolean
}

/** Yields the visible rows of one page, slice by slice. */
async function* filterSlices(
  rows: readonly Row[],
  state: ScanState,
  { residual, plan, meter, isFirst }: Slicing,
): AsyncGenerator<BufferedRow[]> {
  let end = 0
  for (let start = 0; start < rows.length; start = end) {
    end = endOfSlice(rows, start, { size: state.size, maxBytes: MAX_SLICE_BYTES })
    const buffered = await applied(residual, meter, { rows: rows.slice(start, end), max: state.wanted })
    if (plan.isConditional) meter.addRowsRead(buffered.length)
    const isDue = meter.shouldYield()
    state.size = nextSize(state.size, isDue)
    state.wanted -= buffered.length
    if (buffered.length > 0) yield buffered
    if (state.wanted <= 0) return
    // Many queries end with their first page. Those need not yield.
    if (isDue || !isFirst) await meter.yield()
  }
}

/** Applies the filter to a slice. Matches long texts in steps, so that time limit and signal end them too. */
async function applied(
  residual: ResidualFilter,
  meter: BudgetMeter,
  { rows, max }: { readonly rows: readonly Row[]; readonly max: number },
): Promise<BufferedRow[]> {
  for (;;) {
    try {
      return residual.apply(rows, max)
    } catch (error) {
      if (!(error instanceof LongMatch)) throw error
      await meter.yield()
      for (const _ of error.steps) await meter.yield()
    }
  }
}

function both(filter: Filter, extra: Filter | undefined): Filter {
  if (extra === undefined) return filter
  return filter.kind === 'all' ? extra : { kind: 'and', filters: [extra, filter] }
}

/** Slices grow while they take little time. */
function nextSize(size: number, isDue: boolean): number {
  return isDue ? Math.max(1, size >> 2) : Math.min(MAX_SLICE_SIZE, size * 2)
}

/** Number of rows that fit a page if they are as long as these. */
function nextLimit(rows: readonly Row[]): number {
  const bytes = rows.reduce((sum, row) => sum + bytesOfRow(row), 0)
  const fitting = Math.floor((MAX_PAGE_BYTES / Math.max(bytes, 1)) * rows.length)
  return Math.max(1, Math.min(MAX_PAGE_SIZE, fitting))
}
