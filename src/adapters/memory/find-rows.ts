/** Finds one page of the rows a filter matches, by an index if one helps. */

import type { Cell, Filter, Page } from '../../core/ports/storage.ts'
import { required } from '../../core/util/at.ts'
import { cellKey, type IndexKey, indexKey } from './index-key.ts'
import { createMatch, toCell } from './match-filter.ts'
import { idsInOrder, type MemoryTable, type TableView } from './memory-table.ts'
import type { StoredRow } from './stored-cell.ts'

/** The matching rows as they are stored, in the page's order. The caller must copy them before returning them. */
export function findRows(view: TableView, filter: Filter, page: Page): StoredRow[] {
  const matches = createMatch(view.table, filter)
  const ids = candidates(view, filter)
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

/** Rising ids that include every match: from an index if one helps, else all. */
function candidates(view: TableView, filter: Filter): readonly number[] {
  const indexed = indexedIds(view.table, filter)
  if (indexed === undefined) return idsInOrder(view.table)
  const ids = view.changedIds.length === 0 ? indexed : [...indexed, ...view.changedIds]
  return ids.length < 2 ? ids : [...new Set(ids)].sort((left, right) => left - right)
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

/** The ids that `=` or `in` on the id or on indexed columns allow, in any order; `undefined` if no index helps. */
function indexedIds(table: MemoryTable, filter: Filter): readonly number[] | undefined {
  const ids = wantedOf(filter, 'id')
  if (ids !== undefined) return ids.map(Number)
  for (const { columns, ids } of table.indexes) {
    const keys = keysWanted(table, columns, filter)
    if (keys !== undefined)
      return keys.length === 1 ? idsOf(ids.get(required(keys[0]))) : keys.flatMap((key) => idsOf(ids.get(key)))
  }
  return undefined
}

function idsOf(held: number | ReadonlySet<number> | undefined): readonly number[] {
  if (held === undefined) return []
  return typeof held === 'number' ? [held] : [...held]
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
