/** Tells how a query would be answered: columns, levels and strategies, and never a value. */
import { columnsOf } from '../expressions/columns-of.ts'
import type { ColumnRef, Condition } from '../expressions/condition.ts'
import type { Filter } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import { unreachable } from '../util/unreachable.ts'
import type { Plan, SourcePlan, StepPlan, Way } from './plan.ts'
import type { Query, UseKind } from './query.ts'
import { couldShowPlain } from './source-access.ts'

/** How one table is read. */
export interface ExplainedSource {
  readonly table: string
  readonly alias: string
  /** `from`, or the kind of its join. */
  readonly joined: string
  /** How rows are found that belong to those before: `lookup` asks storage for few and reads the table once for many, `table` reads it once. */
  readonly partners: 'none' | 'lookup' | 'table' | 'pairs'
  /** The filter storage is asked, a `?` for each value; `every row` where it is asked for all. */
  readonly asks: string
  /** Columns of what is decided on each row that storage found. */
  readonly evaluated: readonly string[]
  /** Columns by which rows are told to belong to those before. */
  readonly pairedBy: readonly string[]
  /** Columns of what is decided right after this table is joined. */
  readonly decidedAfter: readonly string[]
  /** Sealed columns for which bodies are opened. */
  readonly opened: readonly string[]
  /** Columns of the policy's own conditions, asked row by row. */
  readonly judgedBy: readonly string[]
}

/** What allows one use of a column. */
export interface ExplainedColumn {
  readonly column: string
  readonly use: UseKind
  readonly allowedBy: string
}

/** A printable account of a plan. */
export interface QueryPlan {
  readonly sources: readonly ExplainedSource[]
  readonly columns: readonly ExplainedColumn[]
  /** How the answer comes about. */
  readonly answer: string
  readonly limit: number
  readonly offset: number
  /** All of it as lines of text. */
  readonly text: string
}

/** Accounts for a plan. */
export function explainPlan(plan: Plan, idName: string): QueryPlan {
  const naming: Naming = { query: plan.query, idName }
  const sources = [
    explainSource(plan.first, naming, { joined: 'from', partners: 'none', pairedBy: [], decidedAfter: [] }),
    ...plan.steps.map((step) => explainSource(step.right, naming, explainStep(step, naming))),
  ]
  const { limit, offset } = plan.query
  const explained = { sources, columns: explainColumns(naming), answer: WAYS[plan.way.kind], limit, offset }
  return { ...explained, text: printPlan(explained) }
}

interface Naming {
  readonly query: Query
  readonly idName: string
}

const WAYS: Readonly<Record<Way['kind'], string>> = {
  page: 'storage finds, skips and counts the rows',
  measure: 'storage computes the totals',
  rows: 'rows are read until there are enough',
  totals: 'every row is read and added up',
}

/** How a table is tied to those before it. */
type Tie = Pick<ExplainedSource, 'joined' | 'partners' | 'pairedBy' | 'decidedAfter'>

function explainStep(step: StepPlan, naming: Naming): Tie {
  return {
    joined: `${step.kind} join`,
    partners: partnersOf(step),
    pairedBy: columnsOf(step.on).map((ref) => nameOf(ref, naming)),
    decidedAfter: columnsOf(step.after).map((ref) => nameOf(ref, naming)),
  }
}

function partnersOf({ pairs, canLookUp }: StepPlan): ExplainedSource['partners'] {
  if (pairs.length === 0) return 'pairs'
  return canLookUp ? 'lookup' : 'table'
}

function explainSource(plan: SourcePlan, naming: Naming, tie: Tie): ExplainedSource {
  const { source, residual, isJudged, carried } = plan
  const judgedBy = isJudged ? source.access.judgedBy : []
  const read = [...refsToColumns(residual), ...judgedBy, ...carried]
  return {
    table: source.table.name,
    alias: source.alias,
    ...tie,
    asks: plan.filter.kind === 'every' ? 'every row' : printFilter(plan.filter, source.table, naming.idName),
    evaluated: columnsOf(residual).map((ref) => nameOf(ref, naming)),
    opened: namesOf(read.filter((column) => column.plain === undefined)),
    judgedBy: namesOf(judgedBy),
  }
}

function refsToColumns(condition: Condition): Column[] {
  return columnsOf(condition).flatMap(({ column }) => column ?? [])
}

function namesOf(columns: readonly Column[]): string[] {
  return [...new Set(columns.map(({ name }) => name))]
}

function nameOf({ source, column }: ColumnRef, { query, idName }: Naming): string {
  return `${query.sources[source]?.alias}.${column?.name ?? idName}`
}

function explainColumns(naming: Naming): ExplainedColumn[] {
  const told = new Map<string, ExplainedColumn>()
  for (const { ref, kind } of naming.query.uses) {
    const column = nameOf(ref, naming)
    told.set(`${column} ${kind}`, { column, use: kind, allowedBy: allowance(ref, kind, naming.query) })
  }
  return [...told.values()]
}

/** What the rules found to allow this use in some row. */
function allowance({ source, column }: ColumnRef, kind: UseKind, { sources }: Query): string {
  const access = sources[source]?.access
  if (column === undefined || access === undefined) return 'READ of the record'
  switch (kind) {
    case 'shown':
    case 'spread':
    case 'tested for null':
    case 'counted':
      return 'READ at any level'
    case 'compared by =':
      return couldShowPlain(access, column) ? 'READ in plain text' : 'SEARCH'
    case 'compared':
    case 'aggregated':
      return 'READ in plain text'
    default:
      return unreachable(kind)
  }
}

/** A filter in the words of a query: columns by their own names, a digest marked as one, every value a `?`. */
function printFilter(filter: Filter, table: Table, idName: string): string {
  const print = (part: Filter) => printFilter(part, table, idName)
  switch (filter.kind) {
    case 'every':
      return 'true'
    case 'and':
      return filter.filters.length === 0 ? 'true' : `(${filter.filters.map(print).join(' and ')})`
    case 'or':
      return filter.filters.length === 0 ? 'false' : `(${filter.filters.map(print).join(' or ')})`
    case 'not':
      return `not ${print(filter.filter)}`
    case 'compare':
      return `${physicalName(filter.column, table, idName)} ${filter.operator} ?`
    case 'in':
      return `${physicalName(filter.column, table, idName)} in (${filter.values.length} values)`
    case 'isNull':
      return `${physicalName(filter.column, table, idName)} is null`
    default:
      return unreachable(filter)
  }
}

function physicalName(physical: string, table: Table, idName: string): string {
  const column = table.byPhysical.get(physical)
  if (column === undefined) return idName
  return column.digest === physical ? `digest of ${column.name}` : column.name
}

function printPlan({ sources, columns, answer, limit, offset }: Omit<QueryPlan, 'text'>): string {
  const lines = sources.flatMap((source) => [
    `${source.joined} ${source.table}${source.alias === source.table ? '' : ` as ${source.alias}`}${partnerWords(source)}`,
    `  storage is asked: ${source.asks}`,
    ...listed('  left to evaluate', source.evaluated),
    ...listed('  opened', source.opened),
    ...listed('  paired by', source.pairedBy),
    ...listed('  decided after', source.decidedAfter),
    ...listed('  judged by policy on', source.judgedBy),
  ])
  const uses = columns.map(({ column, use, allowedBy }) => `  ${column} ${use}: ${allowedBy}`)
  return [...lines, `answer: ${answer}; limit ${limit}, offset ${offset}`, 'columns:', ...uses].join('\n')
}

function partnerWords({ partners }: ExplainedSource): string {
  return partners === 'none' ? '' : `, partners by ${partners}`
}

function listed(title: string, names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`${title}: ${names.join(', ')}`]
}
