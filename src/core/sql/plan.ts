/** Plans a query: the filter that storage evaluates for each table, the conditions left to the vault, and how tables are joined. */
import { VaultError } from '../errors.ts'
import { allOf, columnsOf, splitConjuncts, typeOf } from '../expressions/columns-of.ts'
import type { ColumnRef, Condition } from '../expressions/condition.ts'
import { type FilterCells, toFilter } from '../expressions/condition-filter.ts'
import type { Aggregate, Filter } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { at as itemAt } from '../util/lists.ts'
import { storageAggregates } from './aggregate.ts'
import { type JoinEquality, joinEqualities } from './join-keys.ts'
import { type JoinConditions, pushDownConditions } from './push-down-conditions.ts'
import type { Query, Source } from './query.ts'
import type { JoinKind } from './select.ts'
import type { ColumnRequirements } from './source-access.ts'

/** How one table is read, and which of its columns are kept. */
export interface SourcePlan {
  readonly source: Source
  readonly requirements: ColumnRequirements
  /** The conditions of the query on its rows alone. */
  readonly conditions: readonly Condition[]
  /** The filter that storage evaluates. */
  readonly filter: Filter
  /** The condition that the vault evaluates on each row that storage returns. */
  readonly residual: Condition
  /** True if the policy's conditions must be evaluated on each row. Otherwise every row is visible with the guaranteed grants. */
  readonly isConditional: boolean
  /** Columns that joins and results need. */
  readonly projected: readonly Column[]
  /** True if joins or results need the public id as text before the result is built. */
  readonly projectsId: boolean
}

/** How one more table is joined. */
export interface StepPlan {
  readonly kind: JoinKind
  readonly right: SourcePlan
  /** Equalities between this table and those before it. Matching rows are looked up by the first of them. */
  readonly equalities: readonly JoinEquality[]
  /** True if storage can look up matching rows by the first equality. */
  readonly canLookUp: boolean
  /** The join condition. It includes the equalities, which are evaluated again. */
  readonly on: Condition
  /** The condition evaluated directly after this join. */
  readonly postJoin: Condition
}

/**
 * How the result is computed. `page`: storage applies offset and limit. `aggregate`: storage computes the aggregates. `column`: aggregates
 * over one column, of which storage returns nothing else. `rows`: row by row until the limit is reached. `totals`: aggregates over all rows.
 */
export type PlanStrategy =
  | { readonly kind: 'page' }
  | { readonly kind: 'aggregate'; readonly aggregates: readonly Aggregate[] }
  | { readonly kind: 'column'; readonly column: Column }
  | { readonly kind: 'rows' }
  | { readonly kind: 'totals' }

/** A query ready to run. */
export interface Plan {
  readonly query: Query
  readonly first: SourcePlan
  readonly steps: readonly StepPlan[]
  readonly strategy: PlanStrategy
}

/** Plans a query. `cellsOf` returns how constants are stored in a table. */
export function planQuery(query: Query, cellsOf: (table: Table) => FilterCells): Plan {
  const { own, steps } = pushDownConditions(query)
  const joined = joinedRefs(steps)
  const [first, ...others] = query.sources.map((source) =>
    planSource({ query, source, conditions: itemAt(own, source.index), joined }, cellsOf(source.table)),
  )
  if (first === undefined) throw new VaultError('internal', 'A query has no source. This is a defect; please report it.')
  const planned = others.map((right, index): StepPlan => {
    const { kind } = itemAt(query.joins, index)
    const { on, postJoin } = itemAt(steps, index)
    const equalities = joinEqualities(on, index + 1)
    return { kind, right, equalities, canLookUp: canLookUpBy(kind, equalities[0]), on: allOf(on), postJoin: allOf(postJoin) }
  })
  return { query, first, steps: planned, strategy: strategyOf(query, first, planned) }
}

interface SourceRequest {
  readonly query: Query
  readonly source: Source
  readonly conditions: readonly Condition[]
  readonly joined: readonly ColumnRef[]
}

function planSource({ query, source, conditions, joined }: SourceRequest, cells: FilterCells): SourcePlan {
  const { requirements, isConditional, granted, selected, selectsId } = itemAt(query.needs, source.index)
  const filters: Filter[] = []
  const residual: Condition[] = []
  for (const condition of conditions) {
    const { filter, isExact } = toFilter(condition, cells)
    filters.push(filter)
    if (!isExact) residual.push(condition)
  }
  if (isConditional) filters.push(toFilter(granted, cells).filter)
  const own = joined.filter((ref) => ref.source === source.index)
  return {
    source,
    requirements,
    conditions,
    filter: allFilters(filters),
    residual: allOf(residual),
    isConditional,
    projected: own.length === 0 ? selected : [...new Set([...selected, ...own.flatMap(({ column }) => column ?? [])])],
    projectsId: selectsId || own.some(({ column }) => column === undefined),
  }
}

function allFilters(filters: readonly Filter[]): Filter {
  const [first, second] = filters
  if (first !== undefined && second === undefined) return first
  const parts = filters
    .flatMap((filter) => (filter.kind === 'and' ? filter.filters : [filter]))
    .filter(({ kind }) => kind !== 'all')
  const [only, other] = parts
  if (only === undefined) return { kind: 'all' }
  return other === undefined ? only : { kind: 'and', filters: parts }
}

/** The columns that join conditions read. */
function joinedRefs(steps: readonly JoinConditions[]): ColumnRef[] {
  return steps.flatMap(({ on, postJoin }) => [...on, ...postJoin].flatMap((condition) => columnsOf(condition)))
}

/** True if storage has an index on the joined column and the join returns no unmatched rows of the joined table. */
function canLookUpBy(kind: JoinKind, pair: JoinEquality | undefined): boolean {
  if (pair === undefined || kind === 'right' || kind === 'full') return false
  const { left, right } = pair
  const isIndexed = right.column === undefined || right.column.lookup !== undefined
  return isIndexed && typeOf(left) === typeOf(right)
}

function strategyOf({ outputs }: Query, first: SourcePlan, steps: readonly StepPlan[]): PlanStrategy {
  const isDecided = steps.length === 0 && !first.isConditional && isAlways(first.residual)
  if (outputs.kind === 'rows') return { kind: isDecided ? 'page' : 'rows' }
  if (!isDecided) return { kind: 'totals' }
  const aggregates = storageAggregates(outputs)
  if (aggregates !== undefined) return { kind: 'aggregate', aggregates }
  const [column, ...others] = first.projected
  const isOfOne = column?.plain !== undefined && others.length === 0 && !first.projectsId
  return isOfOne ? { kind: 'column', column } : { kind: 'totals' }
}

/** True for a condition that is always true. */
export function isAlways(condition: Condition): boolean {
  return splitConjuncts(condition).length === 0
}
