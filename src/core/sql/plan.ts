/** How a query will be run: what storage is asked of each table, what is left to decide on opened rows, and how tables are joined. */
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

/** What is read of one table, and what of it goes on. */
export interface SourcePlan {
  readonly source: Source
  readonly demand: Demand
  /** What storage is asked. */
  readonly filter: Filter
  /** What is decided on each row that storage found. */
  readonly residual: Condition
  /** True where the caller's conditions must be asked row by row; else every row found takes part, with the least grants. */
  readonly isJudged: boolean
  /** Columns whose values go on from here: into joins and answers. */
  readonly carried: readonly Column[]
  /** True where the public id is needed as text before the answer is written. */
  readonly carriesId: boolean
}

/** How one more table is joined. */
export interface StepPlan {
  readonly kind: JoinKind
  readonly right: SourcePlan
  /** Equalities between the tables so far and this one: by the first of them partners are looked for. */
  readonly pairs: readonly EqualPair[]
  /** Whether partners of few rows are asked of storage; then the first pair says by what. */
  readonly canLookUp: boolean
  /** What makes a pair of rows partners; the equalities are among it, and evaluated again. */
  readonly on: Condition
  /** What is decided right after this join. */
  readonly after: Condition
}

/**
 * How the answer comes about. `page`: storage skips and counts. `measure`: storage computes. `rows` and `totals`: row by
 * row, until there are enough, or to the end.
 */
export type Way =
  | { readonly kind: 'page' }
  | { readonly kind: 'aggregate'; readonly aggregates: readonly Measure[] }
  | { readonly kind: 'rows' }
  | { readonly kind: 'totals' }

/** A query ready to be run. */
export interface Plan {
  readonly query: Query
  readonly first: SourcePlan
  readonly steps: readonly StepPlan[]
  readonly way: Way
}

/** Plans a query. `cellsOf` tells what constants are found under in a table's storage. */
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

/** False where each row takes part and shows as much as any other: then no condition of the policy is looked at. */
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

/** What later steps and the answer ask of the rows. The id of an answered row needs no text until the answer is written. */
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

/** Storage finds partners where it has an index on what they are known by, and no row without a partner must be told. */
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

/** True for a condition that asks nothing. */
export function isAlways(condition: Condition): boolean {
  return splitConjuncts(condition).length === 0
}
