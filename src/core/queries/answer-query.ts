/** Answers a SELECT: parse, resolve, plan, run, show. Everything that can be refused is refused before any row is read. */
import { encodeRecordIds } from '../barrier/record-ids.ts'
import type { Fields } from '../barrier/reveal.ts'
import { showValue } from '../barrier/reveal.ts'
import { fault, words } from '../errors.ts'
import { LanguageError } from '../expressions/language-error.ts'
import { PatternError } from '../expressions/like.ts'
import type { Clock } from '../ports/clock.ts'
import type { Scheduler } from '../ports/scheduler.ts'
import type { RedactionLevel } from '../redaction/levels.ts'
import { lowerLevel } from '../redaction/levels.ts'
import { redact } from '../redaction/redact.ts'
import { filterCells } from '../row-access/find-visible.ts'
import type { Layout, Table } from '../schema/layout.ts'
import { explainPlan, type QueryPlan } from '../sql/explain-plan.ts'
import { parseSelect } from '../sql/parse-select.ts'
import type { Plan } from '../sql/plan.ts'
import { planQuery } from '../sql/plan.ts'
import type { Outputs, ValueOutput } from '../sql/query.ts'
import { toQueryError, withQueryErrors } from '../sql/query-error.ts'
import { resolveSelect } from '../sql/resolve-select.ts'
import type { SourceAccess } from '../sql/source-access.ts'
import { at } from '../util/at.ts'
import type { JsonValue } from '../values/column-type.ts'
import type { QueryBudget, Stop } from './budget-meter.ts'
import { createBudgetMeter } from './budget-meter.ts'
import type { BufferedRow, ReadBuffered, Tuple } from './buffered-row.ts'
import type { PlanResult } from './run-plan.ts'
import { runPlan } from './run-plan.ts'
import type { ScanContext } from './scan-rows.ts'

/** What planning a query uses. */
export interface PlanContext extends Pick<ScanContext, 'barrier'> {
  readonly layout: Pick<Layout, 'tables'>
  readonly access: { table(table: Table): SourceAccess }
}

/** What answering a query uses. A query reads storage and never writes it. */
export interface QueryContext extends PlanContext, ScanContext {
  readonly clock: Clock
  readonly scheduler: Scheduler
}

/** A query as it was parsed: its text, and the name of the record id in it. */
export interface QueryText {
  readonly text: string
  readonly idName: string
}

/** A query, the budget it can use, and the signal that cancels it. */
export interface QueryRequest extends QueryText {
  readonly budget: QueryBudget
  readonly signal: Stop | undefined
}

/** One record of an answer. */
export interface QueryRecord {
  readonly fields: Fields
}

/** The records of a query, and the rows they came from. */
export interface QueryAnswer {
  readonly records: QueryRecord[]
  /** Rows behind the records, by table; none for aggregates. */
  readonly found: readonly { readonly table: Table; readonly rows: readonly number[] }[]
}

/** The records of a query, 25 at most, and the rows behind them. Throws what docs/sql.md lists. */
export async function answerQuery(context: QueryContext, request: QueryRequest): Promise<QueryAnswer> {
  const plan = planOf(context, request)
  const meter = createBudgetMeter(context, request.budget, request.signal)
  const result = await withRunErrors(request.text, () => runPlan(context, plan, meter))
  return { records: show(context, plan, result), found: foundBy(plan, result) }
}

/** The plan of a query, explained: what storage filters, what is opened, and what allows each column. Reads nothing and names no value. */
export function explainQuery(context: PlanContext, query: QueryText): QueryPlan {
  return explainPlan(planOf(context, query), query.idName)
}

function planOf({ barrier, layout, access }: PlanContext, { text, idName }: QueryText): Plan {
  return withQueryErrors(text, () => {
    const accessTo = (table: Table) => access.table(table)
    const query = resolveSelect(parseSelect(text), { text, layout, idName, accessTo })
    return planQuery(query, (table) => filterCells(barrier, table))
  })
}

/** Runs work; errors that only values reveal are located in the text like those of the text itself. */
async function withRunErrors<T>(text: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof LanguageError) throw toQueryError(text, error)
    if (error instanceof PatternError)
      throw fault('unprocessable')`A LIKE pattern read from a column is invalid. ${words(error.message)}`
    throw error
  }
}

function show({ barrier }: ScanContext, { query }: Plan, result: PlanResult): QueryRecord[] {
  if (result.kind === 'totals') {
    return result.values === undefined ? [] : [{ fields: totalFields(query.outputs, result.values) }]
  }
  const { tuples, read } = result
  const values = query.outputs.kind === 'rows' ? query.outputs.values : []
  const ids = query.sources.map(({ table }, index) => {
    const rows = values.some(({ ref }) => ref.source === index && ref.column === undefined) ? rowsOf(tuples, index) : []
    const minted = encodeRecordIds(barrier.ring, table, rows)
    return new Map(rows.map((row, position) => [row, at(minted, position)]))
  })
  const idOf = ({ id }: BufferedRow, source: number) => ids[source]?.get(id) ?? ''
  // `fromEntries` makes own members whatever their names are.
  return tuples.map((tuple) => ({
    fields: Object.fromEntries(values.map((one) => [one.key, shown(one, tuple, { read, idOf })])),
  }))
}

function totalFields(outputs: Outputs, answers: readonly JsonValue[]): Fields {
  const aggregates = outputs.kind === 'totals' ? outputs.aggregates : []
  return Object.fromEntries(aggregates.map(({ key }, index) => [key, answers[index] ?? null]))
}

interface RowReader {
  readonly read: ReadBuffered
  idOf(row: BufferedRow, source: number): string
}

/** A value at the lower of the level asked for and the one its row grants; null for a cell that the row hides. */
function shown({ ref, redaction }: ValueOutput, tuple: Tuple, { read, idOf }: RowReader): JsonValue {
  const row = tuple[ref.source]
  if (row === undefined) return null
  const { column } = ref
  if (column === undefined) return redact(redaction === 'DEFAULT' ? 'PLAIN_TEXT' : redaction, idOf(row, ref.source))
  const allowed: RedactionLevel | undefined = row.grants.level(column)
  if (allowed === undefined) return null
  return showValue({ column, level: lowerLevel(redaction === 'DEFAULT' ? column.level : redaction, allowed) }, read(row, ref))
}

function foundBy({ query }: Plan, result: PlanResult): QueryAnswer['found'] {
  if (result.kind === 'totals') return []
  return query.sources.map(({ table }, index) => ({ table, rows: rowsOf(result.tuples, index) }))
}

/** The rows of one source in these tuples, each once. */
function rowsOf(tuples: readonly Tuple[], source: number): number[] {
  return [...new Set(tuples.flatMap((tuple) => tuple[source]?.id ?? []))]
}
