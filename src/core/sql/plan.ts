/** Plans a query: the filter that storage evaluates for each table, the conditions left to the vault, and how tables are joined. */
import { VaultError } from '../errors.ts'
import { allOf, type ColumnRef, type Condition, columnsOf, sourcesOf, splitConjuncts, typeOf } from '../expressions/condition.ts'
import { type FilterCells, toFilter } from '../expressions/condition-filter.ts'
import { isWholeKey } from '../index-runs/order-key.ts'
import type { Aggregate, Filter } from '../ports/storage.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { at as itemAt } from '../util/lists.ts'
import { storageAggregates } from './aggregate.ts'
import { type Candidates, candidatesOf, candidatesOfTotals, isFoundByIndex, keysInOrder, type OrderedKeys } from './candidates.ts'
import type { OrderTerm, Query, Source } from './query.ts'
import type { JoinKind } from './select.ts'
import { type ColumnRequirements, guaranteedGrants, type SourceAccess } from './source-access.ts'

/** How one table is read, and which of its columns are kept. */
export interface SourcePlan {
  readonly source: Source
  readonly requirements: ColumnRequirements
  /** The conditions of the query on its rows alone. */
  readonly conditions: readonly Condition[]
  /** The filter that storage evaluates. */
  readonly filter: Filter
  /** True if sealed indexes can be asked. Not where an index of storage decides, or the policy row by row: latency would show how many rows are hidden. */
  readonly asksIndexes: boolean
  /** What sealed indexes offer for these conditions. */
  readonly candidates: readonly Candidates[]
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
 * over one column, of which storage returns nothing else. `heads`: sealed indexes have the aggregates, each what is at its place, and no row is read.
 * `rows`: row by row until the limit is reached. `sorted`: the first by `order` are kept, of all rows or of those that a sealed index has in that order.
 * `totals`: aggregates over all rows. `groups`: all rows, of which the groups are kept.
 */
export type PlanStrategy =
  | { readonly kind: 'page' }
  | { readonly kind: 'aggregate'; readonly aggregates: readonly Aggregate[] }
  | { readonly kind: 'column'; readonly column: Column }
  | { readonly kind: 'heads'; readonly candidates: readonly OrderedKeys[] }
  | { readonly kind: 'rows' }
  | { readonly kind: 'sorted'; readonly order: readonly OrderTerm[]; readonly keys: OrderedKeys | undefined }
  | { readonly kind: 'totals' }
  | { readonly kind: 'groups' }

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
  const filter = allFilters(filters)
  const { table } = source
  const asksIndexes = table.indexed.length > 0 && !isConditional && !isFoundByIndex(filter, table)
  return {
    source,
    asksIndexes,
    candidates: asksIndexes ? candidatesOf(table, conditions).filter(showsNoMore(source.access)) : NO_CANDIDATES,
    requirements,
    conditions,
    filter,
    residual: allOf(residual),
    isConditional,
    projected: own.length === 0 ? selected : [...new Set([...selected, ...own.flatMap(({ column }) => column ?? [])])],
    projectsId: selectsId || own.some(({ column }) => column === undefined),
  }
}

/**
 * Returns whether candidates show a caller no more than the result does. A key that is cut is of several values: with SEARCH alone, how many rows are read would
 * say that one begins as the text which they compare.
 */
function showsNoMore(access: SourceAccess): (candidates: Candidates) => boolean {
  const grants = guaranteedGrants(access)
  return ({ column, ranges }) =>
    grants.level(column) === 'PLAIN_TEXT' || ranges.every(({ low }) => low === undefined || isWholeKey(low))
}

const NO_CANDIDATES: readonly Candidates[] = []

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
  const asksIndexes = steps.length === 0 && first.asksIndexes
  if (outputs.kind === 'groups') return { kind: 'groups' }
  if (outputs.kind === 'rows') {
    const { order } = outputs
    if (order.length > 0) return { kind: 'sorted', order, keys: asksIndexes ? keysInOrder(order, first.candidates) : undefined }
    return { kind: isDecided ? 'page' : 'rows' }
  }
  // Of a person who was forgotten, a restored copy has keys in the index, and no record that opens.
  const hasAll = asksIndexes && first.source.table.owner === undefined
  const candidates = hasAll ? candidatesOfTotals(outputs.aggregates, first) : undefined
  if (candidates !== undefined) return { kind: 'heads', candidates }
  if (!isDecided) return { kind: 'totals' }
  const aggregates = storageAggregates(outputs)
  if (aggregates !== undefined) return { kind: 'aggregate', aggregates }
  const [column, ...others] = first.projected
  const isOfOne = column?.plain !== undefined && others.length === 0 && !first.projectsId
  return isOfOne ? { kind: 'column', column } : { kind: 'totals' }
}

/** True for a condition that is always true. */
function isAlways(condition: Condition): boolean {
  return splitConjuncts(condition).length === 0
}

/** The conditions of one join: `on` decides which rows match, `postJoin` is evaluated on the result of the join. */
export interface JoinConditions {
  readonly on: Condition[]
  readonly postJoin: Condition[]
}

/** The conditions of a query. Each is in exactly one list. */
export interface PushedConditions {
  /** By source: evaluated on its rows alone, before any join. */
  readonly own: readonly (readonly Condition[])[]
  readonly steps: readonly JoinConditions[]
}

/** Pushes all conditions down. A condition on a source's own rows is true for them wherever they appear in the result. */
export function pushDownConditions({ sources, joins, where }: Pick<Query, 'sources' | 'joins' | 'where'>): PushedConditions {
  if (joins.length === 0) return { own: [splitConjuncts(where)], steps: [] }
  const own: Condition[][] = sources.map(() => [])
  const steps: JoinConditions[] = joins.map(() => ({ on: [], postJoin: [] }))
  const kinds = joins.map(({ kind }) => kind)
  const lastOuter = kinds.findLastIndex(addsRight) + 1

  for (const condition of splitConjuncts(where)) {
    const referenced = [...sourcesOf(condition)]
    const [source = 0, another] = referenced
    if (another === undefined && !canBeMissing(kinds, source)) itemAt(own, source).push(condition)
    else
      decideAt(
        referenced.reduce((last, one) => Math.max(last, one), lastOuter),
        condition,
      )
  }
  joins.forEach(({ on }, index) => {
    for (const condition of splitConjuncts(on)) {
      const target = ownSource(kinds, index, [...sourcesOf(condition)])
      const conditions = target === undefined ? itemAt(steps, index).on : itemAt(own, target)
      conditions.push(condition)
    }
  })
  return { own, steps }

  /** Adds the condition to the step that joins `source`: part of the join condition of an inner join, or evaluated after an outer join. */
  function decideAt(source: number, condition: Condition): void {
    const step = steps[source - 1]
    if (step === undefined) itemAt(own, 0).push(condition)
    else if (kinds[source - 1] === 'inner') step.on.push(condition)
    else step.postJoin.push(condition)
  }
}

/** The source on whose rows alone a conjunct of ON can be evaluated, or undefined if it must be evaluated on the pair of rows. */
function ownSource(kinds: readonly JoinKind[], index: number, referenced: readonly number[]): number | undefined {
  const [source, another] = referenced
  if (source === undefined || another !== undefined) return undefined
  const kind = kinds[index]
  if (source === index + 1) return kind === 'inner' || kind === 'left' ? source : undefined
  return kind === 'inner' && !canBeMissing(kinds, source) ? source : undefined
}

/** True if an outer join can return rows without this source. Its columns are null there, so a condition cannot be evaluated earlier. */
export function canBeMissing(kinds: readonly JoinKind[], source: number): boolean {
  const own = kinds[source - 1]
  return own === 'left' || own === 'full' || kinds.some((kind, index) => index + 1 > source && addsRight(kind))
}

/** True for joins that return unmatched rows of the right table. */
function addsRight(kind: JoinKind): boolean {
  return kind === 'right' || kind === 'full'
}

/** `left = right`: `right` belongs to the joined table, `left` to a table before it. */
export interface JoinEquality {
  readonly left: ColumnRef
  readonly right: ColumnRef
}

/** The equalities among these conditions between source `joined` and the sources before it. */
export function joinEqualities(conditions: readonly Condition[], joined: number): JoinEquality[] {
  return conditions.flatMap((condition) => {
    if (condition.kind !== 'compare' || condition.operator !== '=') return []
    const { left, right } = condition
    if (left.kind !== 'cell' || right.kind !== 'cell') return []
    if (right.ref.source === joined && left.ref.source < joined) return [{ left: left.ref, right: right.ref }]
    if (left.ref.source === joined && right.ref.source < joined) return [{ left: right.ref, right: left.ref }]
    return []
  })
}
