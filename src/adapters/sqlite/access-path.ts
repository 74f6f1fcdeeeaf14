/** Which way a read takes: one statement or slices, and by ids or by an index, where SQLite must not choose: a slice that scans a whole index makes a scan quadratic. */
import { VaultError } from '../../core/errors.ts'
import type { Aggregate, Filter, Page, PhysicalIndex, Row } from '../../core/ports/storage.ts'
import { unreachable } from '../../core/util/causes.ts'
import type { SqlStatement } from '../sql/sql-statements.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import { indexName } from './prepare-tables.ts'

/** By rows in the order of their ids, or by one index. */
export type AccessPath = { readonly kind: 'id' } | { readonly kind: 'index'; readonly index: PhysicalIndex }

export const BY_ID: AccessPath = { kind: 'id' }

const pathed = new WeakMap<SqlStatement, Map<string, SqlStatement>>()

/** The same statement, bound to a path. SQLite refuses an index that the filter does not bound, so the caller names one that it does. */
export function alongPath(shape: TableShape, statement: SqlStatement, path: AccessPath): SqlStatement {
  const hint = path.kind === 'id' ? 'not indexed' : `indexed by "${indexName(shape.table, path.index)}"`
  const known = pathed.get(statement) ?? new Map<string, SqlStatement>()
  pathed.set(statement, known)
  const found = known.get(hint)
  if (found !== undefined) return found
  const end = sourceEnd(shape, statement)
  const made = { text: `${statement.text.slice(0, end)} ${hint}${statement.text.slice(end)}` }
  known.set(hint, made)
  return made
}

/** Where a statement has named its table. */
function sourceEnd({ name }: TableShape, { text }: SqlStatement): number {
  const source = ` from "${name}" as "t"`
  const at = text.indexOf(source)
  if (at < 0) throw new VaultError('internal', 'A statement does not name its table. This is a defect; please report it.')
  return at + source.length
}

/** What of a filter an index can find. */
export interface IndexedPart {
  readonly path: AccessPath
  /** The parts of the filter that bound the index. All rows that match the filter match these. */
  readonly bounds: Filter
  /** The column that the bounds name. */
  readonly column: string
  /** True if the index holds the rows of the bounds in the order of their ids: those of one value of its one column. */
  readonly isInOrder: boolean
  /** The most rows that match the bounds; undefined if they must be counted. */
  readonly maxRows?: number
}

/** The best index for a filter; undefined if none bounds it. One value is better than a range or a list. */
export function indexedPart(shape: TableShape, filter: Filter): IndexedPart | undefined {
  const parts = conjuncts(filter)
  const found = shape.table.indexes.flatMap((index) => partOf(index, parts) ?? [])
  return found.find(({ isInOrder }) => isInOrder) ?? found[0]
}

function partOf(index: PhysicalIndex, parts: readonly Filter[]): IndexedPart | undefined {
  const [column] = index.columns
  if (column === undefined) return undefined
  const bounding = parts.filter((part) => bounds(part, column))
  if (bounding.length === 0) return undefined
  const isInOrder = index.columns.length === 1 && bounding.some((part) => part.kind === 'compare' && part.operator === '=')
  return {
    path: { kind: 'index', index },
    bounds: { kind: 'and', filters: bounding },
    column,
    isInOrder,
    ...maxRowsOf(index, bounding),
  }
}

/** A unique index finds at most one row for each value of a list. */
function maxRowsOf({ columns, unique }: PhysicalIndex, bounding: readonly Filter[]): Pick<IndexedPart, 'maxRows'> {
  const list = bounding.find((part) => part.kind === 'in')
  return unique && columns.length === 1 && list !== undefined ? { maxRows: list.values.length } : {}
}

function bounds(part: Filter, column: string): boolean {
  if (part.kind === 'in') return part.column === column
  return part.kind === 'compare' && part.column === column && part.operator !== '<>'
}

/** True for a part that bounds the ids of the rows, in the order of which the table is kept. */
export function isIdBound(part: Filter): part is Extract<Filter, { readonly kind: 'compare' }> {
  return part.kind === 'compare' && part.column === 'id' && (part.operator === '<' || part.operator === '>')
}

/** The parts of which all must be true. */
export function conjuncts(filter: Filter): readonly Filter[] {
  return filter.kind === 'and' ? filter.filters.flatMap(conjuncts) : [filter]
}

/** A part that bounds numbers on one side. */
type Bound = Extract<Filter, { readonly kind: 'compare' }> & { readonly value: number }

/**
 * A filter for the same rows with one bound of numbers at each side of a column, and lists without what is beyond them. SQLite begins to read at the first
 * bound that it is given, so a looser one, as of a policy, makes it pass over all entries up to the other.
 */
export function tightened(filter: Filter): Filter {
  if (filter.kind !== 'and') return filter
  const parts = conjuncts(filter)
  const tightest = new Map<string, Bound>()
  for (const part of parts) {
    if (!isBound(part)) continue
    const known = tightest.get(sideOf(part))
    if (known === undefined || !allows(part, known.value)) tightest.set(sideOf(part), part)
  }
  if (tightest.size === 0) return filter
  const filters = parts.flatMap((part): Filter | [] => {
    if (part.kind === 'in') return within(part, tightest)
    return isBound(part) && tightest.get(sideOf(part)) !== part ? [] : part
  })
  return { kind: 'and', filters }
}

function isBound(part: Filter): part is Bound {
  return part.kind === 'compare' && (part.operator === '<' || part.operator === '>') && typeof part.value === 'number'
}

function sideOf({ operator, column }: Bound): string {
  return `${operator}${column}`
}

function allows({ operator, value }: Bound, other: number): boolean {
  return operator === '<' ? other < value : other > value
}

function within(list: Extract<Filter, { readonly kind: 'in' }>, bounds: ReadonlyMap<string, Bound>): Filter {
  const sides = ['<', '>'].flatMap((operator) => bounds.get(`${operator}${list.column}`) ?? [])
  if (sides.length === 0) return list
  return {
    ...list,
    values: list.values.filter((value) => typeof value !== 'number' || sides.every((side) => allows(side, value))),
  }
}

/**
 * A list of one value becomes a comparison, which costs a third of reading the list. So does each value of a list over a
 * real column, because SQLite sometimes reads decimal text back with the last bit wrong.
 */
export function expandLists(shape: TableShape, filter: Filter): Filter {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return { kind: filter.kind, filters: filter.filters.map((part) => expandLists(shape, part)) }
    case 'not':
      return { kind: 'not', filter: expandLists(shape, filter.filter) }
    case 'in': {
      const { column, values } = filter
      const [only] = values
      if (only !== undefined && values.length === 1) return { kind: 'compare', column, operator: '=', value: only }
      if (shape.types.get(column) !== 'real') return filter
      return { kind: 'or', filters: values.map((value) => ({ kind: 'compare', column, operator: '=', value })) }
    }
    case 'all':
    case 'compare':
    case 'isNull':
      return filter
    default:
      return unreachable(filter)
  }
}

/** Ids of the first slice of a scan. */
export const FIRST_SLICE = 4096

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

/** Values whose pages are read one after the other in one statement, at most. */
const FEW_VALUES = 4

/** Returns the filter of each value, if a find is short for each of a few values of one column; undefined otherwise. */
export function shortFinds(shape: TableShape, filter: Filter, page: Page): readonly Filter[] | undefined {
  if (filter.kind !== 'in' || filter.values.length > FEW_VALUES || (page.offset ?? 0) > 0) return undefined
  const { column, values } = filter
  // Of these a set knows which are equal: a row must not be found twice.
  if (!values.every((value) => typeof value === 'number' || typeof value === 'string')) return undefined
  const each = [...new Set(values)].map((value): Filter => ({ kind: 'compare', column, operator: '=', value }))
  return each.length > 1 && each.every((one) => isShortFind(shape, one, page)) ? each : undefined
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
      return filter.filters.some((part) => isNarrow(shape, part)) || namesKeys(shape, conjuncts(filter))
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

/** True if comparisons and lists name the values of all columns of a unique index. */
function namesKeys({ table }: TableShape, parts: readonly Filter[]): boolean {
  const keysOf = (index: PhysicalIndex): number => index.columns.reduce((product, column) => product * valuesOf(parts, column), 1)
  return table.indexes.some((index) => index.unique && index.columns.length > 1 && keysOf(index) < FIRST_SLICE)
}

/** The number of values that a column can have by these parts. */
function valuesOf(parts: readonly Filter[], name: string): number {
  let least = Number.POSITIVE_INFINITY
  for (const part of parts) {
    if (part.kind === 'compare' && part.column === name && part.operator === '=') least = Math.min(least, 1)
    if (part.kind === 'in' && part.column === name) least = Math.min(least, part.values.length)
  }
  return least
}

function isUnique(shape: TableShape, column: string): boolean {
  if (column === 'id') return true
  return shape.table.indexes.some(({ unique, columns }) => unique && columns.length === 1 && columns[0] === column)
}

/** True if a filter finds its rows by their ids or by an index, or finds none: slices of ids would visit the whole table, and read an index again and again. */
export function isReadByRows(shape: TableShape, filter: Filter): boolean {
  return isNarrow(shape, filter) || indexedPart(shape, expandLists(shape, filter)) !== undefined
}
