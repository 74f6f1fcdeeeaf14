/** Reads a table for a query: page by page in order of id, in slices short enough to keep the event loop responsive, and makes rows or values of each slice. */
import type { Barrier } from '../barrier/barrier.ts'
import type { ColumnRef, ValueOf } from '../expressions/condition.ts'
import { LongMatch } from '../expressions/like.ts'
import type { Filter, Page, PhysicalType, StorageReads } from '../ports/storage.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import type { Table } from '../schema/layout.ts'
import type { HeadCache } from '../sealed-index/index-rows.ts'
import { createIndexReader, type IndexReader } from '../sealed-index/read-index.ts'
import type { SourcePlan } from '../sql/plan.ts'
import type { RowGrants } from '../sql/source-access.ts'
import type { BudgetMeter } from './budget-meter.ts'
import { candidateRows, type ReadCosts } from './candidate-rows.ts'
import { type CurrentRow, createResidualFilter, type ResidualFilter } from './residual-filter.ts'
import {
  type BufferedRow,
  bytesOf,
  endOf,
  readScannedBodies,
  readScannedRows,
  type ScannedPage,
  type ScannedRows,
  sliceOf,
} from './scanned-rows.ts'

/** Rows of the first page. It is often enough, and engines return so few without slicing. */
const FIRST_PAGE_SIZE = 64
/** Rows that are read by their ids at once, at least: conditions may leave out none, and another statement costs as much as so many. */
export const FEW_ROWS = 8
/** Maximum rows of a page. All of them count as read, also those after the last that is needed. */
const MAX_PAGE_SIZE = 1000
/** Target size of a page in bytes and characters, estimated from the page before. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024
/** Rows and bytes opened between two yields. Slices start small and grow while they take little time. */
const FIRST_SLICE_SIZE = 64
const MAX_SLICE_SIZE = 500
const MAX_SLICE_BYTES = 512 * 1024

const NO_ROWS: ScannedRows = []

/** What reading needs. */
export interface Scanning {
  readonly storage: StorageReads
  readonly barrier: Barrier
  /** Reads the sealed indexes of a table. Its turns are those of the query, which end at its time limit and its signal. */
  readIndexes(table: Table, turns: Scheduler): IndexReader
  /** What reading costs. Default: as it was measured. */
  readonly costs?: ReadCosts | undefined
}

/** What reading needs, and the time that it takes. */
export interface TimedScanning extends Scanning {
  readonly clock: Clock
  readonly scheduler: Scheduler
}

/** An operation, as far as reading needs it. */
interface ReadingOperation extends Omit<TimedScanning, 'readIndexes' | 'storage' | 'costs'> {
  readonly unit: Pick<TimedScanning, 'storage'>
  /** Heads of sealed indexes that were read. */
  readonly indexHeads: HeadCache
  readonly readCosts: ReadCosts | undefined
}

/** Returns what reading needs of an operation. */
export function scanningOf(operation: ReadingOperation): TimedScanning {
  const { unit, barrier, clock, scheduler, indexHeads: cache, readCosts: costs } = operation
  const { storage } = unit
  const readIndexes = (table: Table, turns: Scheduler) =>
    createIndexReader({ storage, keys: barrier, cache, clock, scheduler: turns }, table)
  return { storage, barrier, clock, scheduler, readIndexes, costs }
}

/** A table to scan. */
export interface ScannedTable {
  readonly plan: SourcePlan
  readonly meter: BudgetMeter
  /** A filter that storage evaluates in addition to the plan's own. */
  readonly extraFilter?: Filter
  /** Number of rows after which no more are needed. */
  readonly limit?: number
  /** The ids of the rows to read, rising, if they are known. */
  readonly ids?: Float64Array
  /** The order of the rows by id, and the row after which they begin. Default: rising, from the first. */
  readonly from?: Pick<Page, 'order' | 'after'>
}

/** Scans the visible rows of one source in the order of their ids. */
export function scanRows(context: Scanning, scanned: ScannedTable): TableScan<readonly BufferedRow[]> {
  const filter = createResidualFilter(context.barrier, scanned.plan)
  return new TableScan(context, scanned, createRowReader(filter, scanned.plan))
}

/**
 * A scan in progress. `next` is a method and not a generator's: most queries end with their first page, and a generator costs several promises
 * more for each batch.
 */
export class TableScan<Batch extends { readonly length: number }> {
  readonly #context: Scanning
  readonly #scanned: ScannedTable
  readonly #reader: SliceReader<Batch>
  readonly #filter: Filter
  /** False if it reads numbers only: then no row need be measured. */
  readonly #readsBytes: boolean
  /** The page to read after the rows; undefined if there is none. */
  #page: Page | undefined
  /** The ids of the rows to read, if an index found them. */
  #candidates: Float64Array | undefined
  /** True until an index was asked, if there is one. */
  #asksIndex: boolean
  #rows: ScannedRows = NO_ROWS
  /** Frees the memory of these rows. */
  #free: (() => void) | undefined
  /** True if all of these together are a short slice, so that none of them need be measured again. */
  #areShort = true
  /** Rows already read of these, and rows to read in the next slice. */
  #start = 0
  #size = FIRST_SLICE_SIZE
  /** Rows still needed. */
  #wanted: number
  /** True after the first page: then the event loop turns between slices. */
  #yieldsBetween = false
  /** True if the event loop must turn before more is read. */
  #mustYield = false

  constructor(context: Scanning, scanned: ScannedTable, reader: SliceReader<Batch>) {
    this.#context = context
    this.#candidates = scanned.ids
    this.#asksIndex = scanned.plan.candidates.length > 0 && scanned.extraFilter === undefined && scanned.ids === undefined
    this.#scanned = scanned
    this.#reader = reader
    this.#filter = both(scanned.plan.filter, scanned.extraFilter)
    this.#page = { order: 'asc', ...scanned.from, limit: FIRST_PAGE_SIZE, columns: reader.columns }
    this.#wanted = scanned.limit ?? Number.POSITIVE_INFINITY
    const { columns } = scanned.plan.source.table.physical
    this.#readsBytes = columns.some(({ name, type }) => isOfBytes(type) && reader.columns.includes(name))
  }

  /** Returns the next batch, which is not empty; undefined at the end of the table, and when no more rows are needed. */
  async next(): Promise<Batch | undefined> {
    while (this.#wanted > 0) {
      if (this.#mustYield) {
        this.#mustYield = false
        await this.#scanned.meter.yield()
      }
      if (this.#start === this.#rows.length) {
        // The rows before are not kept alive while the next are read.
        this.#rows = NO_ROWS
        this.#start = 0
        this.#free?.()
        this.#free = undefined
        if (this.#asksIndex) await this.#askIndex()
        const page = this.#page
        if (page === undefined) return undefined
        this.#addPage(page, await this.#readPage(page))
      } else {
        const read = this.#readSlice()
        const batch = read instanceof Promise ? await read : read
        if (batch.length > 0) return batch
      }
    }
    return undefined
  }

  async #askIndex(): Promise<void> {
    this.#asksIndex = false
    const { plan, from, meter } = this.#scanned
    const choosing = { indexes: this.#context.readIndexes(plan.source.table, meter), costs: this.#context.costs }
    const found = await candidateRows(choosing, plan.candidates, this.#wanted)
    this.#candidates = from === undefined ? found : found && idsFrom(found, from)
    if (found !== undefined && this.#page !== undefined)
      this.#page = { ...this.#page, limit: Math.min(FIRST_PAGE_SIZE, Math.max(FEW_ROWS, this.#wanted)) }
  }

  #readPage(page: Page): Promise<ScannedPage> {
    const { name } = this.#scanned.plan.source.table.physical
    const read = this.#reader.readsOnlyBodies && page.order === 'asc' ? readScannedBodies : readScannedRows
    if (this.#candidates === undefined) return read(this.#context.storage, name, this.#filter, page)
    return this.#readCandidates(this.#candidates, read, page)
  }

  /** Reads the rows of the next candidates. Those that storage has no more, or that its filter leaves out, are not among them. */
  async #readCandidates(candidates: Float64Array, read: typeof readScannedRows, page: Page): Promise<ScannedPage> {
    const ids = [...candidates.subarray(0, page.limit)]
    this.#candidates = candidates.subarray(ids.length)
    const filter: Filter = { kind: 'in', column: 'id', values: ids }
    const { after, ...whole } = page
    const found = await read(
      this.#context.storage,
      this.#scanned.plan.source.table.physical.name,
      both(this.#filter, filter),
      whole,
    )
    return { ...found, next: this.#candidates.length === 0 ? undefined : ids.at(-1) }
  }

  #addPage(page: Page, { rows, next, free }: ScannedPage): void {
    const { plan, meter } = this.#scanned
    // Rows hidden from the caller do not count against the row budget; otherwise the budget would reveal how many there are.
    if (!plan.isConditional) meter.addRowsRead(rows.length)
    const bytes = this.#readsBytes ? bytesOf(rows) : 0
    this.#areShort = bytes < MAX_SLICE_BYTES
    this.#page = next === undefined ? undefined : { ...page, limit: nextLimit(rows.length, bytes), after: next }
    // Many queries end with their first page. Those need not yield.
    this.#yieldsBetween = page.after !== undefined
    // A page without rows has no slices between which it could.
    this.#mustYield = rows.length === 0 && meter.shouldYield()
    this.#rows = rows
    this.#free = free
  }

  /** Returns the batch of the next slice. A promise only if a long text is matched in it. */
  #readSlice(): Batch | Promise<Batch> {
    const end = this.#areShort
      ? Math.min(this.#rows.length, this.#start + this.#size)
      : endOf(this.#rows, this.#start, { size: this.#size, maxBytes: MAX_SLICE_BYTES })
    const rows = sliceOf(this.#rows, this.#start, end)
    let batch: Batch
    try {
      batch = this.#reader.read(rows, this.#wanted)
    } catch (error) {
      return this.#readLong(rows, error).then((read) => this.#noteSlice(end, read))
    }
    return this.#noteSlice(end, batch)
  }

  #noteSlice(end: number, batch: Batch): Batch {
    const { plan, meter } = this.#scanned
    if (plan.isConditional) meter.addRowsRead(batch.length)
    const isDue = meter.shouldYield()
    this.#mustYield = isDue || this.#yieldsBetween
    this.#size = nextSize(this.#size, isDue)
    this.#start = end
    this.#wanted -= batch.length
    return batch
  }

  /** Reads a slice that met a long text. Matches such texts in steps, so that time limit and signal end them too. */
  async #readLong(rows: ScannedRows, met: unknown): Promise<Batch> {
    const { meter } = this.#scanned
    for (let error = met; ; ) {
      if (!(error instanceof LongMatch)) throw error
      await meter.yield()
      for (const _ of error.steps) await meter.yield()
      try {
        return this.#reader.read(rows, this.#wanted)
      } catch (next) {
        error = next
      }
    }
  }
}

/** Returns rising ids in an order, from the one after a row. */
function idsFrom(ids: Float64Array, { order, after }: Pick<Page, 'order' | 'after'>): Float64Array {
  const rising = after === undefined ? ids : ids.filter((id) => (order === 'asc' ? id > after : id < after))
  return order === 'asc' ? rising : rising.slice().reverse()
}

function isOfBytes(type: PhysicalType): boolean {
  return type === 'text' || type === 'bytes'
}

function both(filter: Filter, extra: Filter | undefined): Filter {
  if (extra === undefined) return filter
  return filter.kind === 'all' ? extra : { kind: 'and', filters: [extra, filter] }
}

/** Slices grow while they take little time. */
function nextSize(size: number, isDue: boolean): number {
  return isDue ? Math.max(1, size >> 2) : Math.min(MAX_SLICE_SIZE, size * 2)
}

/** Number of rows that fit a page if they are as long as those before, which had so many bytes. */
function nextLimit(rows: number, bytes: number): number {
  if (rows === 0) return MAX_PAGE_SIZE
  const fitting = Math.floor((MAX_PAGE_BYTES / Math.max(bytes, 1)) * rows)
  return Math.max(1, Math.min(MAX_PAGE_SIZE, fitting))
}

/** Reads slices of rows. */
interface SliceReader<Batch> {
  /** The physical columns that it reads; storage need not return others. */
  readonly columns: readonly string[]
  /** Returns what it makes of the visible rows among these, at most `max`. Throws `data_loss` and `LongMatch`, and nothing was made then. */
  read(rows: ScannedRows, max: number): Batch
  /** True if it reads nothing of a row but id and body. */
  readonly readsOnlyBodies: boolean
}

/** Returns a function that copies a row with the values the plan needs later. */
function createBufferer({ source, projected }: SourcePlan): (current: CurrentRow, grants: RowGrants) => BufferedRow {
  const refs = projected.map((column): ColumnRef => ({ source: source.index, column }))
  return ({ id, publicId, cellOf }, grants) => ({ id, publicId, grants, columns: projected, values: refs.map(cellOf) })
}

/** Creates a reader that returns rows with the values the plan needs later. */
export function createRowReader(
  { columns, readsOnlyBodies, each }: ResidualFilter,
  plan: SourcePlan,
): SliceReader<readonly BufferedRow[]> {
  const bufferedOf = createBufferer(plan)
  return {
    columns,
    readsOnlyBodies,
    read(rows, max) {
      const buffered: BufferedRow[] = []
      each(rows, max, (current, grants) => buffered.push(bufferedOf(current, grants)))
      return buffered
    },
  }
}

/** The visible rows of a slice that are kept. */
export interface KeptBatch {
  /** Number of visible rows. All of them count as read. */
  readonly length: number
  readonly rows: readonly BufferedRow[]
}

/** Creates a reader that buffers only the rows that `keeps` keeps: it reads few columns of each row, and a row has many. */
export function createKeepingReader(
  { columns, readsOnlyBodies, each }: ResidualFilter,
  plan: SourcePlan,
  keeps: (cellOf: ValueOf) => boolean,
): SliceReader<KeptBatch> {
  const bufferedOf = createBufferer(plan)
  return {
    columns,
    readsOnlyBodies,
    read(rows, max) {
      const buffered: BufferedRow[] = []
      const length = each(rows, max, (current, grants) => {
        if (keeps(current.cellOf)) buffered.push(bufferedOf(current, grants))
      })
      return { length, rows: buffered }
    },
  }
}

/** The values of some columns in the visible rows of a slice. They are valid until the next slice is read. */
export interface ValueBatch {
  /** Number of rows. */
  readonly length: number
  /** A list for each column, in order; null for no value. */
  readonly lists: readonly (readonly unknown[])[]
}

interface Wanted {
  readonly ref: ColumnRef
  readonly list: unknown[]
}

/** Creates a reader that returns only the values of these columns, without an object for each row. */
export function createValueReader(
  { columns, readsOnlyBodies, each }: ResidualFilter,
  refs: readonly ColumnRef[],
): SliceReader<ValueBatch> {
  const wanted = refs.map((ref): Wanted => ({ ref, list: [] }))
  const lists = wanted.map(({ list }) => list)
  return {
    columns,
    readsOnlyBodies,
    read(rows, max) {
      for (const list of lists) list.length = 0
      const length = each(rows, max, ({ cellOf }) => {
        for (const { ref, list } of wanted) list.push(cellOf(ref))
      })
      return { length, lists }
    },
  }
}
