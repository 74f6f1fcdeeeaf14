/** Distinguishes reads that touch few rows, which are one statement, from those that must be sliced. */
import type { Aggregate, Filter, Page, Row } from '../../core/ports/storage.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import { conjuncts, isIdBound } from './access-path.ts'
import { FIRST_SLICE } from './sliced-scans.ts'

/** Rows of the longest page that an index or the id finds in one statement. */
export const MAX_SHORT_PAGE = FIRST_SLICE - 1

/** True if a find touches few rows, whatever the size of the table: then one statement is quicker than slices. */
export function isShortFind(shape: TableShape, filter: Filter, page: Page): boolean {
  if (isNarrow(shape, filter)) return true
  if ((page.offset ?? 0) > MAX_SHORT_PAGE || page.limit > MAX_SHORT_PAGE) return false
  if (conjuncts(filter).every((part) => part.kind === 'all' || isIdBound(part))) return true
  // An index keeps rows of one value by id, so the page is read off it.
  return isOfOneValue(filter) && shape.table.indexes.some(({ columns }) => columns.length === 1 && columns[0] === filter.column)
}

function isOfOneValue(filter: Filter): filter is Extract<Filter, { readonly kind: 'compare' | 'in' }> {
  return filter.kind === 'in' ? filter.values.length < 2 : filter.kind === 'compare' && filter.operator === '='
}

/** True if an aggregate touches few rows: the minimum and maximum of an indexed column, or of a range of it, are at the ends of its index. */
export function isShortAggregate(shape: TableShape, filter: Filter, aggregates: readonly Aggregate[]): boolean {
  if (isNarrow(shape, filter) || aggregates.length === 0) return true
  const [only] = aggregates
  if (aggregates.length > 1 || (only?.kind !== 'min' && only?.kind !== 'max')) return false
  const { column } = only
  // A range of the same column bounds what of the index is read, and its end is still the first entry.
  if (
    !conjuncts(filter).every(
      (part) => part.kind === 'all' || (part.kind === 'compare' && part.column === column && part.operator !== '<>'),
    )
  )
    return false
  return column === 'id' || shape.table.indexes.some(({ columns }) => columns[0] === column)
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
