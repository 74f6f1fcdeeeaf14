/** Turns conditions about one table into filters: what an engine can decide of them without opening a cell. */
import type { Filter } from '../ports/storage.ts'
import type { Column } from '../schema/layout.ts'
import { unreachable } from '../util/unreachable.ts'
import type { Comparator } from './ast.ts'
import { columnsOf } from './columns-of.ts'
import { MIRRORED } from './comparator.ts'
import type { ColumnRef, Condition, Term } from './condition.ts'

/** What the constants of a condition are found under in storage. */
export interface FilterCells {
  /** The digest that a value of a column with digests is stored with. */
  digestOf(column: Column, value: unknown): Uint8Array | undefined
  /** The row a public id names, each row having one id in one spelling; undefined where it names none of the table. */
  rowOf(id: string): number | undefined
}

/** A filter that finds every row in which the condition is true; `isExact` where it finds no other row. */
export interface ConditionFilter {
  readonly filter: Filter
  readonly isExact: boolean
}

/**
 * The filter of a condition about one source. Digests only narrow: equal values have equal digests, but so have values that
 * differ in spelling alone. What the engine cannot decide at all is left to evaluation.
 */
export function toFilter(condition: Condition, cells: FilterCells): ConditionFilter {
  return filterOf(condition, true, cells)
}

type Comparison = Extract<Condition, { readonly kind: 'compare' }>
type Constant = Extract<Term, { readonly kind: 'constant' }>

const EVERY_ROW: ConditionFilter = { filter: { kind: 'every' }, isExact: true }
const NO_ROW: ConditionFilter = { filter: { kind: 'or', filters: [] }, isExact: true }
const UNDECIDED: ConditionFilter = { filter: { kind: 'every' }, isExact: false }

/** Rows in which the condition is `wanted`. To ask for false in place of true is how NOT comes in: an inexact filter has no opposite. */
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

/** All of them. What a part leaves open the others still narrow. */
function every(parts: readonly ConditionFilter[]): ConditionFilter {
  const isExact = parts.every((part) => part.isExact)
  const filters = parts.flatMap(({ filter }) => (filter.kind === 'and' ? filter.filters : [filter]))
  if (filters.some(isNothing)) return NO_ROW
  const narrowing = filters.filter(({ kind }) => kind !== 'every')
  const [only] = narrowing
  if (only === undefined) return { filter: { kind: 'every' }, isExact }
  return { filter: narrowing.length === 1 ? only : { kind: 'and', filters: narrowing }, isExact }
}

/** Any of them. What a part leaves open the whole leaves open. */
function some(parts: readonly ConditionFilter[]): ConditionFilter {
  const isExact = parts.every((part) => part.isExact)
  const filters = parts.flatMap(({ filter }) => (filter.kind === 'or' ? filter.filters : [filter]))
  if (filters.some(({ kind }) => kind === 'every')) return parts.some(isEveryRow) ? EVERY_ROW : UNDECIDED
  const merged = mergeEqualities(filters)
  const [only] = merged
  return { filter: merged.length === 1 && only !== undefined ? only : { kind: 'or', filters: merged }, isExact }
}

function isNothing(filter: Filter): boolean {
  return filter.kind === 'or' && filter.filters.length === 0
}

function isEveryRow({ filter, isExact }: ConditionFilter): boolean {
  return filter.kind === 'every' && isExact
}

type In = Extract<Filter, { readonly kind: 'in' }>

/** Equalities of one column as one list, where the first of them stood. */
function mergeEqualities(filters: readonly Filter[]): readonly Filter[] {
  const lists = new Map<string, In>()
  for (const { column, values } of filters.flatMap(asList)) {
    lists.set(column, { kind: 'in', column, values: [...(lists.get(column)?.values ?? []), ...values] })
  }
  const placed = new Set<string>()
  return filters.flatMap((filter) => {
    const [own] = asList(filter)
    if (own === undefined) return [filter]
    if (placed.has(own.column)) return []
    placed.add(own.column)
    const list = lists.get(own.column) ?? own
    return list.values.length === 1 ? [filter] : [list]
  })
}

function asList(filter: Filter): readonly In[] {
  if (filter.kind === 'in') return [filter]
  if (filter.kind !== 'compare' || filter.operator !== '=') return []
  return [{ kind: 'in', column: filter.column, values: [filter.value] }]
}

/** A comparison whose constant stands on the left is turned round. */
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
  // An integer beside a float compares as a double, which an engine may do otherwise.
  if (constant.type !== column.type) return undecided(condition)
  if (column.plain !== undefined) {
    return plainTest({ column: column.plain, operator, value: column.type.toCell(constant.value) }, wanted)
  }
  if (column.digest === undefined || operator !== '=' || !wanted) return undecided(condition)
  const digest = cells.digestOf(column, constant.value)
  if (digest === undefined) return undecided(condition)
  return { filter: { kind: 'compare', column: column.digest, operator: '=', value: digest }, isExact: false }
}

/** Cells of plain columns order as their values do, on every engine. */
function plainTest(
  { column, operator, value }: Pick<Extract<Filter, { readonly kind: 'compare' }>, 'column' | 'value'> & { operator: Comparator },
  wanted: boolean,
): ConditionFilter {
  const filter: Filter = { kind: 'compare', column, operator, value }
  if (wanted) return { filter, isExact: true }
  if (operator === '=') return { filter: { kind: 'compare', column, operator: '<>', value }, isExact: true }
  return { filter: { kind: 'not', filter }, isExact: true }
}

/** An id and its row stand for each other, so that equality is exact either way. */
function idTest(id: unknown, wanted: boolean, cells: FilterCells): ConditionFilter {
  const row = typeof id === 'string' ? cells.rowOf(id) : undefined
  if (row === undefined) return wanted ? NO_ROW : EVERY_ROW
  return { filter: { kind: 'compare', column: 'id', operator: wanted ? '=' : '<>', value: row }, isExact: true }
}

/** A column has a plain cell or a digest just where it has a value. */
function nullTest({ column }: ColumnRef, wanted: boolean): ConditionFilter {
  if (column === undefined) return wanted ? NO_ROW : EVERY_ROW
  const cell = column.plain ?? column.digest
  if (cell === undefined) return UNDECIDED
  const filter: Filter = { kind: 'isNull', column: cell }
  return { filter: wanted ? filter : { kind: 'not', filter }, isExact: true }
}

/** What the engine cannot decide is at least unknown where one of the columns has no value. */
function undecided(condition: Condition): ConditionFilter {
  return every([UNDECIDED, ...columnsOf(condition).map((ref) => nullTest(ref, false))])
}
