/** The first rows in the order of a sealed index: as many as are needed, without reading the others. */
import { typeOf } from '../expressions/condition.ts'
import { compareKeys, isWholeKey, orderKey } from '../index-runs/order-key.ts'
import type { KeyRows, Way } from '../sealed-index/walk-keys.ts'
import type { OrderedKeys } from '../sql/candidates.ts'
import type { SourcePlan } from '../sql/plan.ts'
import type { OrderTerm } from '../sql/query.ts'
import { at } from '../util/lists.ts'
import type { BudgetMeter } from './budget-meter.ts'
import { rowsToWalk } from './candidate-rows.ts'
import { createSelection, type Selection } from './order-rows.ts'
import { createResidualFilter } from './residual-filter.ts'
import { createRowReader, FEW_ROWS, type Scanning, TableScan } from './scan-rows.ts'
import { type BufferedRow, type ReadBuffered, sizeOf } from './scanned-rows.ts'

/** The rows to return, and the index that has them in order. */
export interface IndexOrder {
  readonly keys: OrderedKeys
  readonly order: readonly OrderTerm[]
  readonly offset: number
  readonly limit: number
  readonly meter: BudgetMeter
  readonly read: ReadBuffered
  /** Where the rows begin; undefined for the first of all. */
  readonly start?: OrderStart | undefined
}

/** The row after which the rows of an order begin. No row with a value before its value is read. */
export interface OrderStart {
  readonly row: number
  readonly value: unknown
  /** True for this row, and for one with an equal value that comes before it. */
  isUpTo(row: Pick<BufferedRow, 'id'> | undefined, value: unknown): boolean
}

/** Rows that are read at once after the first. */
const MANY_ROWS = 1000

/**
 * Returns the rows of OFFSET and LIMIT in order. Undefined if all rows are better read and sorted: that costs less, or conditions turn out to leave out
 * nearly all, or another caller changed one of the rows meanwhile, so that it would be in a wrong place, twice or nowhere.
 */
export async function firstByIndex(
  context: Scanning,
  plan: SourcePlan,
  wanted: IndexOrder,
): Promise<readonly BufferedRow[] | undefined> {
  const { keys, order, offset, limit } = wanted
  const indexes = context.readIndexes(plan.source.table, wanted.meter)
  let left = await rowsToWalk({ indexes, costs: context.costs }, keys, { candidates: plan.candidates, wanted: offset + limit })
  if (left === 0) return undefined
  const readRows = createIdReader(context, plan, wanted.meter)
  const window = createOrderedWindow(wanted)
  let size = Math.min(MANY_ROWS, Math.max(FEW_ROWS, offset + limit))
  const direction = at(order, 0).direction === 'asc' ? 'up' : 'down'
  const walk = indexes.walk(keys.index.objectId, keys.ranges, { direction, after: startKey(wanted) })
  for (;;) {
    const pieces = await walk.next(size)
    if (walk.hasMoved) return undefined
    if (pieces.length === 0) break
    const ids = pieces.flatMap(({ rows }) => rows)
    if (left < ids.length) return undefined
    left -= ids.length
    if (!(await window.add(pieces, await readRows(ids)))) return undefined
    if (window.isFull()) return window.rows
    size = MANY_ROWS
  }
  await window.end()
  return window.rows
}

/** Returns a function that reads those of these rows that the conditions are true of, by id. */
function createIdReader(context: Scanning, plan: SourcePlan, meter: BudgetMeter) {
  const reader = createRowReader(createResidualFilter(context.barrier, plan), plan)
  return async (ids: readonly number[]): Promise<ReadonlyMap<number, BufferedRow>> => {
    const found = new Map<number, BufferedRow>()
    const scan = new TableScan(context, { plan, meter, ids: Float64Array.from(ids).sort() }, reader)
    for (let rows = await scan.next(); rows !== undefined; rows = await scan.next())
      for (const row of rows) found.set(row.id, row)
    return found
  }
}

/** Collects rows in order, from OFFSET up to LIMIT. */
function createOrderedWindow({ keys: { column }, order, offset, limit, meter, read, start }: IndexOrder) {
  const rows: BufferedRow[] = []
  const keys = order.map(({ ref, direction }) => ({ direction, compare: typeOf(ref).compare }))
  const { type } = column
  let toSkip = offset
  /** The rows of the key that is being read, if its order is not that of their values. */
  let sorting: { readonly key: Uint8Array; readonly selection: Selection<BufferedRow> } | undefined

  function push(row: BufferedRow): void {
    if (toSkip > 0) toSkip--
    else if (rows.length < limit) rows.push(row)
  }

  async function end(): Promise<void> {
    const sorted = await sorting?.selection.take()
    sorting = undefined
    for (const row of sorted ?? []) push(row)
  }

  function selectionOf(key: Uint8Array): Selection<BufferedRow> {
    sorting ??= { key, selection: createSelection({ keys, offset: 0, limit: toSkip + limit - rows.length, meter, sizeOf }) }
    return sorting.selection
  }

  /** Adds a row, if there is one. Returns false if it has another key by now. */
  function addRow(key: Uint8Array, row: BufferedRow | undefined): boolean {
    if (row === undefined) return true
    const values = order.map(({ ref }) => read(row, ref))
    if (compareKeys(orderKey(type, values[0]), key) !== 0) return false
    if (start?.isUpTo(row, values[0]) === true) return true
    // A cut key is that of several values, and further terms order the rows of a value.
    if (order.length === 1 && isWholeKey(key)) push(row)
    else selectionOf(key).add(row, values)
    return true
  }

  return {
    rows,
    end,
    isFull: () => rows.length === limit,
    /** Adds those rows of a batch that were found. Returns false if one of them has another key by now. */
    async add(pieces: readonly KeyRows[], found: ReadonlyMap<number, BufferedRow>): Promise<boolean> {
      for (const { key, rows: ids } of pieces) {
        if (sorting !== undefined && compareKeys(sorting.key, key) !== 0) await end()
        if (rows.length === limit) return true
        for (const id of ids) if (!addRow(key, found.get(id))) return false
      }
      return true
    },
  }
}

/** Returns the start where its key is that of no other value: the rows up to it are not read again for each page of a frequent value. */
function startKey({ keys: { column }, start }: IndexOrder): Way['after'] {
  const key = start && orderKey(column.type, start.value)
  return start !== undefined && key !== undefined && isWholeKey(key) ? { key, row: start.row } : undefined
}
