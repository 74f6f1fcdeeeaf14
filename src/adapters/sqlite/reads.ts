/** The reads of the storage port: one statement where that is short, else slices between which the event loop turns. */
import type { ColumnPage, Filter, Page, Row, Scans, Storage } from '../../core/ports/storage.ts'
import { bytesOfRows, columnOfRows, rowsOfColumn } from '../sql/stored-cells.ts'
import { assertBytes, type TableShape, type TableShapes } from '../sql/table-shapes.ts'
import {
  isCountedAtOnce,
  isReadByRows,
  isShortAggregate,
  isShortFind,
  isWholeCount,
  MAX_SHORT_PAGE,
  shortFinds,
  tightened,
} from './access-path.ts'
import { aggregateRows } from './aggregates.ts'
import { joinedCells, readBytesRange, readColumnSlice } from './columns.ts'
import type { TableWork } from './connection.ts'
import { findRows, findRowsOfValues, getRows, MIN_PACKED_IDS, rowsAtOnce } from './read-rows.ts'
import { aggregateInSlices, EVERY, findInSlices, getInSlices, type OnSnapshot, ROWS_AT_ONCE, type Yielder } from './scans.ts'

/** Rows that are read in one statement however long they are: slices of one row each would cost more than they help. */
const FEW_ROWS = 1

/** Rows from which reading a column of bytes as one row pays. */
const MIN_JOINED_LIMIT = 100
/** Reads of a table by rows after one met a cell too long to be joined. */
const READS_BY_ROWS = 100

const byRows = new WeakMap<TableShape, number>()

function isWorthJoining(shape: TableShape): boolean {
  const left = byRows.get(shape) ?? 0
  if (left > 0) byRows.set(shape, left - 1)
  return left === 0
}

/** True for a list of ids, all of whose rows are on the page. */
function isListOfIds(filter: Filter, { limit, after }: ColumnPage): boolean {
  if (filter.kind !== 'in' || filter.column !== 'id' || after !== undefined) return false
  return filter.values.length >= MIN_PACKED_IDS && filter.values.length <= Math.min(limit, ROWS_AT_ONCE)
}

/** Where reads run: a short one at once, a scan on one snapshot or in the transaction that holds the connection. */
export interface Reader {
  /** The turns of the event loop between the slices of a scan. */
  readonly yielder: Yielder
  read<T>(work: TableWork<T>): T | Promise<T>
  scan<T>(slices: (run: OnSnapshot) => Promise<T>): Promise<T>
  /** The same for pages that the writing connection may have in its cache: those of an index and of the rows it finds, and those of totals. */
  scanCache<T>(slices: (run: OnSnapshot) => Promise<T>): Promise<T>
}

export function createReads(
  shapes: TableShapes,
  { yielder, read, scan, scanCache }: Reader,
): Pick<Storage, 'get' | 'find' | 'scan' | 'aggregate'> {
  async function lastRow(shape: TableShape): Promise<Row | undefined> {
    return (await read(findRows(shape, EVERY, { order: 'desc', limit: 1, columns: [] })))[0]
  }

  function rowsOnPage(shape: TableShape, given: Filter, page: Page): readonly Row[] | Promise<readonly Row[]> {
    const filter = tightened(given)
    const isFew = page.limit <= FEW_ROWS || page.limit <= rowsAtOnce(shape, page.columns)
    if (isFew && isShortFind(shape, filter, page)) return read(findRows(shape, filter, page))
    const few = isFew ? shortFinds(shape, filter, page) : undefined
    if (few !== undefined) return read(findRowsOfValues(shape, few, page))
    const slices = (run: OnSnapshot) => findInSlices({ shape, filter, yielder, run }, page)
    return isReadByRows(shape, filter) ? scanCache(slices) : scan(slices)
  }

  const scans: Scans = {
    async column(table, filter, page) {
      const shape = shapes.of(table)
      if (!isReadByRows(shape, filter)) return readColumnSlice(read, { shape, filter }, page)
      // A longer page of few rows would be looked for in slices, too.
      const short = { ...page, limit: Math.min(page.limit, MAX_SHORT_PAGE) }
      return columnOfRows(await rowsOnPage(shape, filter, rowsOfColumn(short)), short)
    },
    async bytes(table, filter, page) {
      const shape = shapes.of(table)
      assertBytes(shape, page.column)
      const isListed = isListOfIds(filter, page)
      const isJoined = isListed || (page.limit >= MIN_JOINED_LIMIT && !isReadByRows(shape, filter))
      if (isJoined && isWorthJoining(shape)) {
        const part = isListed
          ? await read(joinedCells({ shape, filter }, page.column, undefined))
          : await scan((run) => readBytesRange(run, { shape, filter }, page))
        if (part !== undefined) return part
        byRows.set(shape, READS_BY_ROWS)
      }
      const found = rowsOnPage(shape, filter, rowsOfColumn(page))
      return bytesOfRows(found instanceof Promise ? await found : found, page)
    },
  }

  return {
    find: async (table, filter, page) => rowsOnPage(shapes.of(table), filter, page),
    async get(table, ids) {
      const shape = shapes.of(table)
      if (ids.length <= FEW_ROWS || ids.length <= Math.min(ROWS_AT_ONCE, rowsAtOnce(shape))) return read(getRows(shape, ids))
      return scan((run) => getInSlices({ shape, filter: EVERY, yielder, run }, ids))
    },
    scan: (table, filter, page) => scans[page.shape](table, filter, page),
    async aggregate(table, given, aggregates) {
      const shape = shapes.of(table)
      const filter = tightened(given)
      const isAtOnce =
        isShortAggregate(shape, filter, aggregates) || (isWholeCount(filter, aggregates) && isCountedAtOnce(await lastRow(shape)))
      if (isAtOnce) return read(aggregateRows({ shape, filter }, aggregates))
      return scanCache((run) => aggregateInSlices({ shape, filter, yielder, run }, aggregates))
    },
  }
}
