/** Plans a query: the filter that storage evaluates for each table, the conditions left to the vault, and how tables are joined. */
import { VaultError } from '../errors.ts'
import { allOf, columnsOf, splitConjuncts, typeOf } from '../expressions/columns-of.ts'
import type { ColumnRef, Condition } from '../expressions/condition.ts'
import type { FilterCells } from '../expressions/condition-filter.ts'
import { toFilter } from '../expressions/condition-filter.ts'
import type { Filter, Measure } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { at as itemAt } from '../util/at.ts'
import { measuresOf } from './aggregate.ts'
import { type EqualPair, equalPairs } from './join-keys.ts'
import { placeConditions } from './place-conditions.ts'
import type { Query, Source } from './query.ts'
import { demandOn } from './query.ts'
import type { JoinKind } from './select.ts'
import type { Demand } from './source-access.ts'
import { leastGrants, necessaryFor, takesPart } from './source-access.ts'

/** How one table is read, and which of its columns are kept. */
export interface SourcePlan {
  readonly source: Source
  readonly demand: Demand
  /** The filter that storage evaluates. */
  readonly filter: Filter
  /** The condition that the vault evaluates on each row that storage returns. */
  readonly residual: Condition
  /** True if the policy's conditions must be evaluated on each row. Otherwise every row is visible with the guaranteed grants. */
  readonly isJudged: boolean
  /** Columns that joins and results need. */
  readonly carried: readonly Column[]
  /** True if joins or results need the public id as text before the result is built. */
  readonly carriesId: boolean
}

/** How one more table is joined. */
export interface StepPlan {
  readonly kind: JoinKind
  readonly right: SourcePlan
  /** Equalities between this table and those before it. Matching rows are looked up by the first of them. */
  readonly pairs: readonly EqualPair[]
  /** True if storage can look up matching rows by the first equality. */
  readonly canLookUp: boolean
  /** The join condition. It includes the equalities, which are evaluated again. */
  readonly on: Condition
  /** The condition evaluated directly after this join. */
  readonly after: Condition
}

/**
 * How the result is computed. `page`: storage applies offset and limit. `aggregate`: storage computes the aggregates. `rows`: row by row
 * until the limit is reached. `totals`: aggregates over all rows.
 */
export type Way =
  | { readonly kind: 'page' }
  | { readonly kind: 'aggregate'; readonly aggregates: readonly Measure[] }
  | { readonly kind: 'rows' }
  | { readonly kind: 'totals' }

/** A query ready to run. */
export interface Plan {
  readonly query: Query
  readonly first: SourcePlan
  readonly steps: readonly StepPlan[]
  readonly way: Way
}

/** Plans a query. `cellsOf` returns how constants are stored in a table. */
export function planQuery(query: Query, cellsOf: (table: Table) => FilterCells): Plan {
  const { own, steps } = placeConditions(query)
  const carried = carriedRefs(query, steps)
  const [first, ...others] = query.sources.map((source) =>
    planSource({ query, source, conditions: itemAt(own, source.index), carried }, cellsOf(source.table)),
  )
  if (first === undefined) throw new VaultError('internal', 'A query has no source. This is a defect; please report it.')
  const planned = others.map((right, index): StepPlan => {
    const { kind } = itemAt(query.joins, index)
    const { on, after } = itemAt(steps, index)
    const pairs = equalPairs(on, index + 1)
    return { kind, right, pairs, canLookUp: canLookUpBy(kind, pairs[0]), on: allOf(on), after: allOf(after) }
  })
  return { query, first, steps: planned, way: strategyOf(query, first, planned) }
}

interface SourceRequest {
  readonly query: Query
  readonly source: Source
  readonly conditions: readonly Condition[]
  readonly carried: readonly ColumnRef[]
}

function planSource({ query, source, conditions, carried }: SourceRequest, cells: FilterCells): SourcePlan {
  const demand = demandOn(source, query.uses)
  const isJudged = dependsOnRow(source, demand, query)
  const pushed = conditions.map((condition) => ({ condition, ...toFilter(condition, cells) }))
  const granted = isJudged ? [toFilter(necessaryFor(source.access, demand), cells).filter] : []
  const ownRefs = carried.filter((ref) => ref.source === source.index)
  return {
    source,
    demand,
    filter: allFilters([...pushed.map(({ filter }) => filter), ...granted]),
    residual: allOf(pushed.flatMap(({ condition, isExact }) => (isExact ? [] : [condition]))),
    isJudged,
    carried: [...new Set(ownRefs.flatMap(({ column }) => column ?? []))],
    carriesId: ownRefs.some(({ column }) => column === undefined),
  }
}

/** True unless every row is visible and shows the selected columns in plain text. Otherwise no policy condition needs to be evaluated. */
function dependsOnRow({ access, index }: Source, demand: Demand, { uses }: Query): boolean {
  if (access.conditions.length === 0) return false
  const least = leastGrants(access)
  const shown = uses.filter(({ kind, ref }) => ref.source === index && (kind === 'select' || kind === 'select all'))
  const showsPlainText = shown.every(({ ref }) => ref.column === undefined || least.level(ref.column) === 'PLAIN_TEXT')
  return !showsPlainText || !takesPart(least, demand)
}

function allFilters(filters: readonly Filter[]): Filter {
  const parts = filters
    .flatMap((filter) => (filter.kind === 'and' ? filter.filters : [filter]))
    .filter(({ kind }) => kind !== 'every')
  const [only, other] = parts
  if (only === undefined) return { kind: 'every' }
  return other === undefined ? only : { kind: 'and', filters: parts }
}

/** The columns that joins and the result need. The id of a result row becomes text only when the result is built. */
function carriedRefs(
  { outputs }: Query,
  steps: readonly { readonly on: readonly Condition[]; readonly after: readonly Condition[] }[],
): ColumnRef[] {
  const selected =
    outputs.kind === 'rows'
      ? outputs.values.flatMap(({ ref }) => (ref.column === undefined ? [] : [ref]))
      : outputs.aggregates.flatMap(({ ref }) => ref ?? [])
  return [...selected, ...steps.flatMap(({ on, after }) => [...on, ...after].flatMap((condition) => columnsOf(condition)))]
}

/** True if storage has an index on the joined column and the join returns no unmatched rows of the joined table. */
function canLookUpBy(kind: JoinKind, pair: EqualPair | undefined): boolean {
  if (pair === undefined || kind === 'right' || kind === 'full') return false
  const { left, right } = pair
  const isIndexed = right.column === undefined || right.column.lookup !== undefined
  return isIndexed && typeOf(left) === typeOf(right)
}

function strategyOf({ outputs }: Query, first: SourcePlan, steps: readonly StepPlan[]): Way {
  const isDecided = steps.length === 0 && !first.isJudged && isAlways(first.residual)
  if (outputs.kind === 'rows') return { kind: isDecided ? 'page' : 'rows' }
  const aggregates = isDecided ? measuresOf(outputs) : undefined
  return aggregates === undefined ? { kind: 'totals' } : { kind: 'aggregate', aggregates }
}

/** True for a condition that is always true. */
export function isAlways(condition: Condition): boolean {
  return splitConjuncts(condition).length === 0
}
