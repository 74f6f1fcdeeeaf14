/** Explains a query plan: columns, redaction levels and strategies, never a value. */
import { type ColumnRef, type Condition, columnsOf } from '../expressions/condition.ts'
import type { Filter } from '../ports/storage.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { unreachable } from '../util/causes.ts'
import { at, present } from '../util/lists.ts'
import type { Candidates } from './candidates.ts'
import { explainWholeRead } from './explain-whole-read.ts'
import type { Plan, PlanStrategy, SourcePlan, StepPlan } from './plan.ts'
import type { Query, UseKind } from './query.ts'
import { guaranteedGrants, possiblyPlainText, type RowStatement } from './source-access.ts'

/** How one table is read. */
export interface ExplainedSource {
  readonly table: string
  readonly alias: string
  /** `from`, or the kind of its join. */
  readonly joinKind: string
  /**
   * How matching rows are found. `index lookup` queries storage for each batch, and reads the table once after about 2,000 rows. `hash` and
   * `nested loop` read the table once.
   */
  readonly joinMethod: 'none' | 'index lookup' | 'hash' | 'nested loop'
  /** The filter that storage evaluates, with `?` for each value; `every row` without one. */
  readonly storageFilter: string
  /** Why storage reads every row of the table, in a few words; undefined if an index finds its rows, or LIMIT ends the reading. */
  readonly wholeRead: string | undefined
  /** Columns whose sealed index can find the rows. An estimate decides between it and reading every row, when the query runs. */
  readonly sealedIndexes: readonly string[]
  /** Columns of the conditions that the vault evaluates on each row that storage returns. */
  readonly residualColumns: readonly string[]
  /** Columns of the join condition. */
  readonly joinColumns: readonly string[]
  /** Columns of the conditions evaluated after the join. */
  readonly postJoinColumns: readonly string[]
  /** Sealed columns for which record bodies are opened. */
  readonly openedColumns: readonly string[]
  /** Columns of the policy's conditions, evaluated on each row. */
  readonly policyColumns: readonly string[]
}

/** The grant that allows one use of a column. */
export interface ExplainedColumn {
  readonly column: string
  readonly use: UseKind
  readonly allowedBy: string
  /** The statements whose WHERE decides in each row whether this grant applies, or at which level. Empty if all rows are alike. */
  readonly rowStatements: readonly RowStatement[]
}

/** An explained query plan. */
export interface QueryPlan {
  readonly sources: readonly ExplainedSource[]
  readonly columns: readonly ExplainedColumn[]
  /** How the result is computed. */
  readonly strategy: string
  /** Columns and directions by which the vault orders rows, as `customers.name asc`; empty if they are in order of insertion. */
  readonly order: readonly string[]
  readonly limit: number
  readonly offset: number
  /** The number of columns that are left out, because the caller does not know them. Absent in a plan for the host, and if they know all. */
  readonly hiddenColumns?: number
  /** The whole plan as lines of text. */
  readonly text: string
}

/** Returns whether a column may be named to those who read a plan. */
export type IsKnown = (table: Table, column: Column) => boolean

/**
 * Explains a plan. `idName` is the name of the record id. Columns that are not known come from the conditions of the policy: they are counted, and
 * where a filter compares one, it only says so.
 */
export function explainPlan(plan: Plan, idName: string, isKnown: IsKnown = () => true): QueryPlan {
  const hidden = new Set<Column>()
  const naming: Naming = {
    query: plan.query,
    idName,
    isKnown(table, column) {
      const isShown = isKnown(table, column)
      if (!isShown) hidden.add(column)
      return isShown
    },
  }
  const { strategy } = plan
  const sources = [
    explainSource(plan.first, naming, {
      joinKind: 'from',
      joinMethod: 'none',
      joinColumns: [],
      postJoinColumns: [],
      wholeRead: readsFew(plan) ? undefined : explainWholeRead(plan.first),
      ofStrategy: strategy.kind === 'sorted' ? present([strategy.keys]) : strategy.kind === 'heads' ? strategy.candidates : [],
    }),
    ...plan.steps.map((step) => explainSource(step.right, naming, explainStep(step, naming))),
  ]
  const { limit, offset } = plan.query
  const terms = strategy.kind === 'sorted' ? strategy.order : []
  const order = terms.map(({ ref, direction }) => `${nameOf(ref, naming)} ${direction}`)
  const explained = { sources, columns: explainColumns(naming), strategy: explainStrategy(strategy), order, limit, offset }
  const counted = hidden.size === 0 ? explained : { ...explained, hiddenColumns: hidden.size }
  return { ...counted, text: printPlan(counted) }
}

interface Naming {
  readonly query: Query
  readonly idName: string
  readonly isKnown: IsKnown
}

/** True if storage reads no more rows than the result has, or an index has them in order. */
function readsFew({ strategy, first }: Plan): boolean {
  if (strategy.kind === 'sorted') return strategy.keys !== undefined
  return strategy.kind === 'heads' || (strategy.kind === 'page' && first.filter.kind === 'all')
}

function explainStrategy(strategy: PlanStrategy): string {
  if (strategy.kind === 'sorted' && strategy.keys !== undefined)
    return 'rows are read in the order of a sealed index; or, where that costs more, every matching row, of which the first are kept in memory'
  return STRATEGIES[strategy.kind]
}

const STRATEGIES: Readonly<Record<PlanStrategy['kind'], string>> = {
  page: 'storage applies filter, offset and limit',
  aggregate: 'storage computes the aggregates',
  column: 'one column is read and aggregated',
  heads: 'sealed indexes have the aggregates, and rows are read only for a longest text that is cut there',
  rows: 'rows are read until the limit is reached',
  sorted: 'every matching row is read, and the first in order are kept in memory',
  groups: 'every matching row is read, and each group is kept in memory',
  totals: 'every row is read and aggregated',
}

/** How a table is joined to those before it. */
type ExplainedJoin = Pick<ExplainedSource, 'joinKind' | 'joinMethod' | 'joinColumns' | 'postJoinColumns' | 'wholeRead'> & {
  /** What the strategy has of sealed indexes, beside the conditions. */
  readonly ofStrategy?: readonly Pick<Candidates, 'column'>[]
}

function explainStep(step: StepPlan, naming: Naming): ExplainedJoin {
  const joinMethod = joinMethodOf(step)
  return {
    joinKind: `${step.kind} join`,
    joinMethod,
    wholeRead: joinMethod === 'index lookup' ? undefined : explainWholeRead(step.right),
    joinColumns: columnsOf(step.on).flatMap((ref) => nameIn(ref, naming)),
    postJoinColumns: columnsOf(step.postJoin).flatMap((ref) => nameIn(ref, naming)),
  }
}

function joinMethodOf({ equalities, canLookUp }: StepPlan): ExplainedSource['joinMethod'] {
  if (equalities.length === 0) return 'nested loop'
  return canLookUp ? 'index lookup' : 'hash'
}

function explainSource(plan: SourcePlan, naming: Naming, { ofStrategy = [], ...join }: ExplainedJoin): ExplainedSource {
  const { source, residual, isConditional, projected } = plan
  const policyColumns = isConditional ? source.access.conditionColumns : []
  const read = [...refsToColumns(residual), ...policyColumns, ...projected]
  const namesOf = (columns: readonly Column[]) => namesIn(source.table, columns, naming)
  return {
    table: source.table.name,
    alias: source.alias,
    ...join,
    storageFilter: plan.filter.kind === 'all' ? 'every row' : printFilter(plan.filter, source.table, naming),
    sealedIndexes: [
      ...new Set([...plan.candidates, ...ofStrategy].flatMap(({ column }) => nameIn({ source: source.index, column }, naming))),
    ],
    residualColumns: columnsOf(residual).flatMap((ref) => nameIn(ref, naming)),
    openedColumns: namesOf(read.filter((column) => column.plain === undefined)),
    policyColumns: namesOf(policyColumns),
  }
}

function refsToColumns(condition: Condition): Column[] {
  return columnsOf(condition).flatMap(({ column }) => column ?? [])
}

function namesIn(table: Table, columns: readonly Column[], { isKnown }: Naming): string[] {
  return [...new Set(columns.filter((column) => isKnown(table, column)).map(({ name }) => name))]
}

/** Returns the name of a column of a condition, which can be the policy's; none if it is not known. */
function nameIn(ref: ColumnRef, naming: Naming): string[] {
  const { table } = at(naming.query.sources, ref.source)
  return ref.column === undefined || naming.isKnown(table, ref.column) ? [nameOf(ref, naming)] : []
}

function nameOf({ source, column }: ColumnRef, { query, idName }: Naming): string {
  return `${at(query.sources, source).alias}.${column?.name ?? idName}`
}

function explainColumns(naming: Naming): ExplainedColumn[] {
  const explained = new Map<string, ExplainedColumn>()
  for (const { ref, kind } of naming.query.uses) {
    const column = nameOf(ref, naming)
    const rowStatements = dependsOnRow(ref, kind, naming.query) ? rowStatementsOf(ref, naming) : []
    explained.set(`${column} ${kind}`, { column, use: kind, allowedBy: allowance(ref, kind, naming.query), rowStatements })
  }
  return [...explained.values()]
}

/** The grant that allows this use in at least one row. */
function allowance({ source, column }: ColumnRef, kind: UseKind, { sources }: Query): string {
  const { access } = at(sources, source)
  if (column === undefined) return 'READ of the record'
  switch (kind) {
    case 'select':
    case 'select all':
    case 'null test':
    case 'count':
      return 'READ at any level'
    case 'equality':
      return possiblyPlainText(access, column) ? 'READ in plain text' : 'SEARCH'
    case 'comparison':
    case 'aggregate':
    case 'order':
    case 'group':
      return 'READ in plain text'
    default:
      return unreachable(kind)
  }
}

/** True if rows differ in whether they grant this use, or at which level they show the column. */
function dependsOnRow({ source, column }: ColumnRef, kind: UseKind, { sources }: Query): boolean {
  const { access } = at(sources, source)
  if (column === undefined || access.conditions.length === 0) return false
  const least = guaranteedGrants(access)
  switch (kind) {
    case 'select':
    case 'select all':
      return least.level(column) !== access.highestLevel(column)
    case 'null test':
    case 'count':
      return least.level(column) === undefined
    case 'equality':
      return least.level(column) !== 'PLAIN_TEXT' && !least.allows('SEARCH', column)
    case 'comparison':
    case 'aggregate':
    case 'order':
    case 'group':
      return least.level(column) !== 'PLAIN_TEXT'
    default:
      return unreachable(kind)
  }
}

function rowStatementsOf({ source, column }: ColumnRef, naming: Naming): readonly RowStatement[] {
  const { table, access } = at(naming.query.sources, source)
  const statements = column === undefined ? [] : access.rowStatements(column)
  return statements.map(({ columns, ...statement }) => {
    const named = columns.flatMap((name) => table.byName.get(name) ?? [])
    return { ...statement, columns: namesIn(table, named, naming) }
  })
}

/** Prints a filter like a WHERE clause: column names of the schema, digests marked as such, and `?` for every value. */
function printFilter(filter: Filter, table: Table, naming: Naming): string {
  const print = (part: Filter) => printFilter(part, table, naming)
  const compared = 'column' in filter ? table.byPhysical.get(filter.column) : undefined
  if (compared !== undefined && !naming.isKnown(table, compared)) return 'what the policy demands'
  switch (filter.kind) {
    case 'all':
      return 'true'
    case 'and':
      return filter.filters.length === 0 ? 'true' : `(${filter.filters.map(print).join(' and ')})`
    case 'or':
      return filter.filters.length === 0 ? 'false' : `(${filter.filters.map(print).join(' or ')})`
    case 'not':
      return `not ${print(filter.filter)}`
    case 'compare':
      return `${physicalName(filter.column, table, naming)} ${filter.operator} ?`
    case 'in':
      return `${physicalName(filter.column, table, naming)} in (${filter.values.length} values)`
    case 'isNull':
      return `${physicalName(filter.column, table, naming)} is null`
    default:
      return unreachable(filter)
  }
}

function physicalName(physical: string, table: Table, { idName }: Naming): string {
  const column = table.byPhysical.get(physical)
  if (column === undefined) return idName
  return column.digest === physical ? `digest of ${column.name}` : column.name
}

function printPlan({ sources, columns, strategy, order, limit, offset, hiddenColumns }: Omit<QueryPlan, 'text'>): string {
  const lines = sources.flatMap((source) => [
    `${source.joinKind} ${source.table}${source.alias === source.table ? '' : ` as ${source.alias}`}${printMethod(source)}`,
    `  storage filter: ${source.storageFilter}`,
    ...(source.wholeRead === undefined ? [] : [`  reads the whole table: ${source.wholeRead}`]),
    ...listed('  sealed indexes', source.sealedIndexes),
    ...listed('  residual columns', source.residualColumns),
    ...listed('  opened columns', source.openedColumns),
    ...listed('  join columns', source.joinColumns),
    ...listed('  post-join columns', source.postJoinColumns),
    ...listed('  policy columns', source.policyColumns),
  ])
  const uses = columns.map(
    ({ column, use, allowedBy, rowStatements }) => `  ${column} ${use}: ${allowedBy}${printStatements(rowStatements)}`,
  )
  const counted = hiddenColumns === undefined ? [] : [`hidden columns: ${hiddenColumns}`]
  const ordered = listed('order', order)
  return [...lines, `strategy: ${strategy}; limit ${limit}, offset ${offset}`, ...ordered, 'columns:', ...uses, ...counted].join(
    '\n',
  )
}

function printStatements(statements: readonly RowStatement[]): string {
  if (statements.length === 0) return ''
  const printed = statements.map(({ role, position, columns }) => {
    const named = columns.length === 0 ? '' : ` (${columns.join(', ')})`
    return `statement ${position} of ${role}${named}`
  })
  return `, by row: ${printed.join(', ')}`
}

function printMethod({ joinMethod }: ExplainedSource): string {
  return joinMethod === 'none' ? '' : `, by ${joinMethod}`
}

function listed(title: string, names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`${title}: ${names.join(', ')}`]
}
