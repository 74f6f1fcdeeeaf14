/** Which way a statement reads its table, where the engine must not choose: a slice that scans a whole index makes a scan quadratic. */
import { VaultError } from '../../core/errors.ts'
import type { Filter, PhysicalIndex } from '../../core/ports/storage.ts'
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
  const end = sourceStart(shape, statement) + sourceOf(shape).length
  const made = { text: `${statement.text.slice(0, end)} ${hint}${statement.text.slice(end)}` }
  known.set(hint, made)
  return made
}

/** Where a statement names its table, after what it selects. */
export function sourceStart(shape: TableShape, { text }: SqlStatement): number {
  const at = text.indexOf(sourceOf(shape))
  if (at < 0) throw new VaultError('internal', 'A statement does not name its table. This is a defect; please report it.')
  return at
}

function sourceOf({ name }: TableShape): string {
  return ` from "${name}" as "t"`
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
