/** Finds one page of the rows a filter matches, by an index if one helps. */

import type { Cell, Filter, Page } from '../../core/ports/storage.ts'
import { required } from '../../core/util/lists.ts'
import { createMatch, toCell } from './match-filter.ts'
import { type FilterPlan, type IdOrder, idsOf, type MemoryTable, type TableView } from './memory-table.ts'
import { cellKey, type IndexKey, indexKey, type StoredRow } from './stored-cell.ts'

/** The matching rows as they are stored, in the page's order. The caller must copy them before returning them. */
export function findRows(view: TableView, filter: Filter, page: Page): StoredRow[] {
  const { matches, ids } = isLong(filter) ? keptPlan(view, filter) : planOf(view, filter)
  const step = page.order === 'asc' ? 1 : -1
  const found: StoredRow[] = []
  let toSkip = page.offset ?? 0
  for (
    let position = firstPosition(ids, page);
    position >= 0 && position < ids.length && found.length < page.limit;
    position += step
  ) {
    const row = view.rowAt(required(ids[position]))
    if (row === undefined || !matches(row)) continue
    if (toSkip > 0) toSkip--
    else found.push(row)
  }
  return found
}

/** Values from which on a filter is long: each page of a walk over many values would look up all of them again. */
const MANY_VALUES = 32

function isLong(filter: Filter): boolean {
  return filter.kind === 'and' ? filter.filters.some(isLong) : filter.kind === 'in' && filter.values.length >= MANY_VALUES
}

/** The plan of the page before, if it had the same filter and no row has changed since. */
function keptPlan(view: TableView, filter: Filter): FilterPlan {
  const { plans, changes } = view.table
  const kept = plans.get(filter)
  if (kept?.changes === changes && view.changedIds.length === 0) return kept
  const plan = planOf(view, filter)
  if (view.changedIds.length === 0) plans.set(filter, plan)
  return plan
}

function planOf(view: TableView, filter: Filter): FilterPlan {
  const { table } = view
  return { matches: createMatch(table, filter), ids: candidates(view, filter), changes: table.changes }
}

/** Rising ids that include every match: from an index if one helps, else all. */
function candidates({ table, changedIds }: TableView, filter: Filter): readonly number[] {
  const lists = indexedIds(table, filter)
  if (lists === undefined) return idsOf(table.order)
  const [only = [], ...others] = lists
  if (others.length === 0 && changedIds.length === 0) return only
  const ids = new Set(changedIds)
  for (const list of lists) for (const id of list) ids.add(id)
  return [...ids].sort((left, right) => left - right)
}

/** The index of the first id beyond `after` in the page's direction, by binary search. */
function firstPosition(ids: readonly number[], { order, after }: Page): number {
  if (after === undefined) return order === 'asc' ? 0 : ids.length - 1
  let low = 0
  let high = ids.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const id = required(ids[middle])
    if (order === 'asc' ? id <= after : id < after) low = middle + 1
    else high = middle
  }
  return order === 'asc' ? low : low - 1
}

/** The ids that `=` or `in` on the id or on indexed columns allow, in lists that each rise; `undefined` if no index helps. */
function indexedIds(table: MemoryTable, filter: Filter): readonly (readonly number[])[] | undefined {
  const wanted = wantedOf(filter, 'id')
  if (wanted !== undefined) return wanted.map((id) => [Number(id)])
  for (const { columns, ids } of table.indexes) {
    const keys = keysWanted(table, columns, filter)
    if (keys !== undefined) return keys.map((key) => heldIds(ids.get(key)))
  }
  return undefined
}

function heldIds(held: number | IdOrder | undefined): readonly number[] {
  if (held === undefined) return []
  return typeof held === 'number' ? [held] : idsOf(held)
}

/** The values that a column may have, where the filter bounds it by `=` or `in`, alone or as a part of `and`. */
function wantedOf(filter: Filter, column: string): readonly Exclude<Cell, null>[] | undefined {
  switch (filter.kind) {
    case 'and':
      return filter.filters.map((part) => (part.kind === 'and' ? undefined : wantedOf(part, column))).findLast(isGiven)
    case 'in':
      return filter.column === column ? filter.values : undefined
    case 'compare':
      return filter.operator === '=' && filter.column === column ? [filter.value] : undefined
    default:
      return undefined
  }
}

function isGiven<T>(value: T | undefined): value is T {
  return value !== undefined
}

/** The index keys of the wanted values. An index over several columns helps if each has one value. */
function keysWanted(table: MemoryTable, columns: readonly string[], filter: Filter): readonly IndexKey[] | undefined {
  const [first] = columns
  if (columns.length === 1 && first !== undefined) {
    const values = wantedOf(filter, first)
    return values?.map((value) => required(cellKey(toCell(table, first, value))))
  }
  const row: StoredRow = { id: 0, version: 0 }
  for (const column of columns) {
    const [value, ...others] = wantedOf(filter, column) ?? []
    if (value === undefined || others.length > 0) return undefined
    row[column] = toCell(table, column, value)
  }
  const key = indexKey(columns, row)
  return key === undefined ? undefined : [key]
}
