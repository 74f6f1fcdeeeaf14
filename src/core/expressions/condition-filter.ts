/** Converts conditions about one table to filters, so that storage evaluates as much of them as it can without opening a cell. */
import type { Cell, Filter } from '../ports/storage.ts'
import type { Column } from '../schema/column-layout.ts'
import { unreachable } from '../util/causes.ts'
import type { Comparator } from './ast.ts'
import { type ColumnRef, type Condition, columnsOf, MIRRORED, type Term } from './condition.ts'

/** How constants of a condition are stored. */
export interface FilterCells {
  /** The digests that can be stored for this value of the column: one, but while look-up keys are rotated. */
  digestsOf(column: Column, value: unknown): readonly Uint8Array[]
  /** The row of a public id, or undefined if the id is not one of this table. Each row has exactly one id in one spelling. */
  rowOf(id: string): number | undefined
}

/** A filter that finds every row in which the condition is true. `isExact`: it finds no other row. */
export interface ConditionFilter {
  readonly filter: Filter
  readonly isExact: boolean
}

/**
 * Converts a condition about one source. A filter on digests is never exact: values that differ only in normalization have the same digest.
 * A part that storage cannot evaluate does not narrow the filter.
 */
export function toFilter(condition: Condition, cells: FilterCells): ConditionFilter {
  return filterOf(condition, true, cells)
}

type Comparison = Extract<Condition, { readonly kind: 'compare' }>
type Constant = Extract<Term, { readonly kind: 'constant' }>

const EVERY_ROW: ConditionFilter = { filter: { kind: 'all' }, isExact: true }
const NO_ROW: ConditionFilter = { filter: { kind: 'or', filters: [] }, isExact: true }
const UNDECIDED: ConditionFilter = { filter: { kind: 'all' }, isExact: false }

/**
 * Finds the rows in which the condition is `wanted`. NOT asks for false instead of negating the filter, because an inexact filter has no
 * negation.
 */
function filterOf(condition: Condition, wanted: boolean, cells: FilterCells): ConditionFilter {
  switch (condition.kind) {
    case 'truth':
      return condition.truth === wanted ? EVERY_ROW : NO_ROW
    case 'and':
    case 'or': {
      const parts = condition.conditions.map((part) => filterOf(part, wanted, cells))
      return (condition.kind === 'and') === wanted ? every(parts) : some(parts)
    }
    case 'not':
      return filterOf(condition.condition, !wanted, cells)
    case 'compare':
      return comparison(condition, wanted, cells)
    case 'isNull':
      return nullTest(condition.ref, wanted)
    case 'like':
    case 'hasKey':
      return undecided(condition)
    default:
      return unreachable(condition)
  }
}

/** AND of filters. A part that storage cannot evaluate is left out; the others still narrow. */
function every(parts: readonly ConditionFilter[]): ConditionFilter {
  const isExact = parts.every((part) => part.isExact)
  const filters = parts.flatMap(({ filter }) => (filter.kind === 'and' ? filter.filters : [filter]))
  if (filters.some(isNothing)) return NO_ROW
  const narrowing = filters.filter(({ kind }) => kind !== 'all')
  const [only] = narrowing
  if (only === undefined) return { filter: { kind: 'all' }, isExact }
  return { filter: narrowing.length === 1 ? only : { kind: 'and', filters: narrowing }, isExact }
}

/** OR of filters. One part that storage cannot evaluate makes the whole match every row. */
function some(parts: readonly ConditionFilter[]): ConditionFilter {
  const isExact = parts.every((part) => part.isExact)
  const filters = parts.flatMap(({ filter }) => (filter.kind === 'or' ? filter.filters : [filter]))
  if (filters.some(({ kind }) => kind === 'all')) return parts.some(isEveryRow) ? EVERY_ROW : UNDECIDED
  const merged = mergeEqualities(filters)
  const [only] = merged
  return { filter: merged.length === 1 && only !== undefined ? only : { kind: 'or', filters: merged }, isExact }
}

function isNothing(filter: Filter): boolean {
  return filter.kind === 'or' && filter.filters.length === 0
}

function isEveryRow({ filter, isExact }: ConditionFilter): boolean {
  return filter.kind === 'all' && isExact
}

type In = Extract<Filter, { readonly kind: 'in' }>

/** Merges equalities of one column into one `in` list, at the position of the first. */
function mergeEqualities(filters: readonly Filter[]): readonly Filter[] {
  const lists = new Map<string, Exclude<Cell, null>[]>()
  for (const { column, values } of filters.flatMap(asList)) {
    const list = lists.get(column)
    // Copied once: a condition can have very many equalities.
    if (list === undefined) lists.set(column, [...values])
    else for (const value of values) list.push(value)
  }
  const placed = new Set<string>()
  return filters.flatMap((filter) => {
    const [own] = asList(filter)
    if (own === undefined) return [filter]
    const { column } = own
    if (placed.has(column)) return []
    placed.add(column)
    const values = lists.get(column) ?? own.values
    return values.length === 1 ? [filter] : [{ kind: 'in' as const, column, values }]
  })
}

function asList(filter: Filter): readonly In[] {
  if (filter.kind === 'in') return [filter]
  if (filter.kind !== 'compare' || filter.operator !== '=') return []
  return [{ kind: 'in', column: filter.column, values: [filter.value] }]
}

/** A comparison of a column with a constant. A constant on the left is swapped to the right. */
function comparison(condition: Comparison, wanted: boolean, cells: FilterCells): ConditionFilter {
  const { operator, left, right } = condition
  if (left.kind === 'cell' && right.kind === 'constant') {
    return withConstant({ condition, ref: left.ref, operator, constant: right }, wanted, cells)
  }
  if (left.kind === 'constant' && right.kind === 'cell') {
    return withConstant({ condition, ref: right.ref, operator: MIRRORED[operator], constant: left }, wanted, cells)
  }
  return undecided(condition)
}

interface ConstantComparison {
  readonly condition: Comparison
  readonly ref: ColumnRef
  readonly operator: Comparator
  readonly constant: Constant
}

function withConstant(compared: ConstantComparison, wanted: boolean, cells: FilterCells): ConditionFilter {
  const { condition, ref, operator, constant } = compared
  const { column } = ref
  if (column === undefined) return operator === '=' ? idTest(constant.value, wanted, cells) : UNDECIDED
  // INTEGER compared with FLOAT compares as doubles. Engines may compare them in another way.
  if (constant.type !== column.type) return undecided(condition)
  if (column.plain !== undefined) {
    return plainTest({ column: column.plain, operator, value: column.type.toCell(constant.value) }, wanted)
  }
  if (column.digest === undefined || operator !== '=' || !wanted) return undecided(condition)
  const digests = cells.digestsOf(column, constant.value)
  const [digest, older] = digests
  if (digest === undefined) return undecided(condition)
  if (older !== undefined) return { filter: { kind: 'in', column: column.digest, values: digests }, isExact: false }
  return { filter: { kind: 'compare', column: column.digest, operator: '=', value: digest }, isExact: false }
}

/** Plain cells have the same order as their values, on every engine. */
function plainTest(
  { column, operator, value }: Pick<Extract<Filter, { readonly kind: 'compare' }>, 'column' | 'value'> & { operator: Comparator },
  wanted: boolean,
): ConditionFilter {
  return { filter: { kind: 'compare', column, operator: wanted ? operator : NEGATED[operator], value }, isExact: true }
}

/** The operators that are true where the others are false. */
const NEGATED = { '=': '<>', '<': '>=', '>': '<=' } as const

/** Each id belongs to exactly one row, so both equality and its negation are exact. */
function idTest(id: unknown, wanted: boolean, cells: FilterCells): ConditionFilter {
  const row = typeof id === 'string' ? cells.rowOf(id) : undefined
  if (row === undefined) return wanted ? NO_ROW : EVERY_ROW
  return { filter: { kind: 'compare', column: 'id', operator: wanted ? '=' : '<>', value: row }, isExact: true }
}

/** A column has a plain cell or a digest exactly when it has a value. */
function nullTest({ column }: ColumnRef, wanted: boolean): ConditionFilter {
  if (column === undefined) return wanted ? NO_ROW : EVERY_ROW
  const cell = column.plain ?? column.digest
  if (cell === undefined) return UNDECIDED
  const filter: Filter = { kind: 'isNull', column: cell }
  return { filter: wanted ? filter : { kind: 'not', filter }, isExact: true }
}

/** For a condition that storage cannot evaluate: excludes rows in which one of its columns is null, because there the result is unknown. */
function undecided(condition: Condition): ConditionFilter {
  return every([UNDECIDED, ...columnsOf(condition).map((ref) => nullTest(ref, false))])
}
