/** Answers a SELECT: parse, settle, plan, run, show. Everything that can be refused is refused before any row is read. */
import { z } from 'zod'
import { mintIds } from '../barrier/record-ids.ts'
import type { Fields } from '../barrier/reveal.ts'
import { showValue } from '../barrier/reveal.ts'
import { VaultError } from '../errors.ts'
import { PatternFault } from '../expressions/like.ts'
import { TextFault } from '../expressions/text-fault.ts'
import { MEMORY_BUDGET, ROW_BUDGET, TIME_BUDGET_MS } from '../limits.ts'
import type { Clock } from '../ports/clock.ts'
import type { Scheduler } from '../ports/scheduler.ts'
import type { HeldRow, ReadHeld, Tuple } from '../queries/held-row.ts'
import type { Budget, Stop } from '../queries/pace.ts'
import { createPace } from '../queries/pace.ts'
import type { Result } from '../queries/run-plan.ts'
import { runPlan } from '../queries/run-plan.ts'
import type { ScanContext } from '../queries/scan-rows.ts'
import type { Level } from '../redaction/levels.ts'
import { lowerLevel } from '../redaction/levels.ts'
import { redact } from '../redaction/redact.ts'
import type { Layout, Table } from '../schema/layout.ts'
import { explainPlan, type QueryPlan } from '../sql/explain-plan.ts'
import { parseSelect } from '../sql/parse-select.ts'
import type { Plan } from '../sql/plan.ts'
import { planQuery } from '../sql/plan.ts'
import type { Outputs, ValueOutput } from '../sql/query.ts'
import { explainingFaults, queryFault } from '../sql/query-fault.ts'
import { resolveSelect } from '../sql/resolve-select.ts'
import type { SourceAccess } from '../sql/source-access.ts'
import { filterCells } from '../stores/find-visible.ts'
import type { JsonValue } from '../values/column-type.ts'
import { audited } from './audited.ts'
import type { SessionContext } from './context.ts'

/** What a query touches. */
export interface QueryContext extends ScanContext {
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly layout: Pick<Layout, 'tables'>
  readonly access: { table(table: Table): SourceAccess }
}

/** How a query is answered. */
export interface QueryOptions {
  /** What the record id is called in queries and answers. Default `svc_id`. */
  readonly idName?: string
  /** An `AbortSignal`: once it is aborted the query ends with `invalid_request`. */
  readonly signal?: Stop
  /** What it may take. Default 1,000,000 rows, 30,000 milliseconds, 256 MiB of rows held for joins. */
  readonly budget?: Partial<Budget>
}

/** One record of an answer. */
export interface QueryRecord {
  readonly fields: Fields
}

/** What a query answers, and which rows its records came from. */
export interface QueryAnswer {
  readonly records: QueryRecord[]
  /** Rows behind the records, by table; none for totals. */
  readonly found: readonly { readonly table: Table; readonly rows: readonly number[] }[]
}

const DEFAULT_ID_NAME = 'svc_id'

/**
 * Answers a SELECT with 25 records at most. Throws `invalid_request` for what does not parse, is outside the subset or takes too
 * much, `forbidden` for what needs more than the caller is shown, `unprocessable` for types that do not go together.
 */
export function queryRecords(session: SessionContext, sql: unknown, options: QueryOptions): Promise<{ records: QueryRecord[] }> {
  const deed = { action: 'QUERY', resourceType: 'VAULT', verb: 'Query', body: () => ({ query: sql }) } as const
  return audited(session, deed, async (context, trail) => {
    assertQueryOptions(options)
    const { records, found } = await answerQuery({ ...context, storage: context.unit.storage }, sql, options)
    for (const { table, rows } of found) trail.touches(table, rows)
    return { records }
  })
}

/** The answer, and the rows behind it. */
export async function answerQuery(context: QueryContext, sql: unknown, options: QueryOptions): Promise<QueryAnswer> {
  const text = textOf(sql)
  const idName = options.idName ?? DEFAULT_ID_NAME
  const plan = planOf(context, text, idName)
  const budget = budgetOf(options)
  const result = await running(text, () => runPlan(context, plan, createPace(context, budget, options.signal)))
  return { records: show(context, plan, result), found: foundBy(plan, result) }
}

/** How a query would be answered: what storage is asked, what is opened, and what allows each column. It reads nothing and names no value. */
export function explainQuery(context: QueryContext, sql: unknown, options: Pick<QueryOptions, 'idName'>): QueryPlan {
  const text = textOf(sql)
  const idName = options.idName ?? DEFAULT_ID_NAME
  return explainPlan(planOf(context, text, idName), idName)
}

function budgetOf({ budget = {} }: QueryOptions): Budget {
  return { maxRows: ROW_BUDGET, timeoutMs: TIME_BUDGET_MS, maxBytes: MEMORY_BUDGET, ...budget }
}

const amount = z.number().min(0).max(Number.MAX_SAFE_INTEGER).optional()

/** Anything misspelt, or no number, would bound nothing. */
const optionsShape = z.strictObject({
  idName: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,62}$/)
    .optional(),
  signal: z.custom((signal) => typeof signal === 'object' && signal !== null && 'aborted' in signal).optional(),
  budget: z.strictObject({ maxRows: amount, timeoutMs: amount, maxBytes: amount }).optional(),
})

/** Refuses options of another shape than declared. */
function assertQueryOptions(options: unknown): asserts options is QueryOptions {
  const parsed = optionsShape.safeParse(options)
  if (parsed.success) return
  const [issue] = parsed.error.issues
  const member = issue?.path.map(String).join('.') ?? ''
  const isAmount = issue?.path[0] === 'budget' && issue.path.length > 1
  throw new VaultError(
    isAmount ? 'out_of_range' : 'invalid_request',
    `Query failed. Option ${member === '' ? 'list' : member} is not as described. It takes idName, an AbortSignal as signal, and a budget of maxRows, timeoutMs and maxBytes from 0 up.`,
  )
}

function textOf(sql: unknown): string {
  if (typeof sql === 'string') return sql
  throw new VaultError('invalid_request', 'Query failed. Give the query as text.')
}

function planOf(context: QueryContext, text: string, idName: string): Plan {
  return explainingFaults(text, () => {
    const accessTo = (table: Table) => context.access.table(table)
    const query = resolveSelect(parseSelect(text), { text, layout: context.layout, idName, accessTo })
    return planQuery(query, (table) => filterCells(context, table))
  })
}

/** Runs work; faults that only values bring to light are explained like those of the text. */
async function running<T>(text: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof TextFault) throw queryFault(text, error)
    if (error instanceof PatternFault)
      throw new VaultError(
        'unprocessable',
        `Query failed. A pattern of LIKE that stands in a column cannot be used. ${error.message}`,
      )
    throw error
  }
}

function show({ barrier }: ScanContext, { query }: Plan, result: Result): QueryRecord[] {
  if (result.kind === 'totals') {
    return result.answers === undefined ? [] : [{ fields: totalFields(query.outputs, result.answers) }]
  }
  const { tuples, read } = result
  const values = query.outputs.kind === 'rows' ? query.outputs.values : []
  const ids = query.sources.map(({ table }, index) => {
    const rows = values.some(({ ref }) => ref.source === index && ref.column === undefined) ? rowsOf(tuples, index) : []
    const minted = mintIds(barrier.ring, table, rows)
    return new Map(rows.map((row, at) => [row, minted[at] ?? '']))
  })
  const idOf = ({ id }: HeldRow, source: number) => ids[source]?.get(id) ?? ''
  // `fromEntries` makes own members whatever their names are.
  return tuples.map((tuple) => ({
    fields: Object.fromEntries(values.map((one) => [one.key, shown(one, tuple, { read, idOf })])),
  }))
}

function totalFields(outputs: Outputs, answers: readonly JsonValue[]): Fields {
  const aggregates = outputs.kind === 'totals' ? outputs.aggregates : []
  return Object.fromEntries(aggregates.map(({ key }, index) => [key, answers[index] ?? null]))
}

interface Showing {
  readonly read: ReadHeld
  idOf(row: HeldRow, source: number): string
}

/** A value at the lower of the level asked and the one its row grants; a cell the row hides is null. */
function shown({ ref, asked }: ValueOutput, tuple: Tuple, { read, idOf }: Showing): JsonValue {
  const row = tuple[ref.source]
  if (row === undefined) return null
  const { column } = ref
  if (column === undefined) return redact(asked === 'DEFAULT' ? 'PLAIN_TEXT' : asked, idOf(row, ref.source))
  const allowed: Level | undefined = row.grants.level(column)
  if (allowed === undefined) return null
  return showValue({ column, level: lowerLevel(asked === 'DEFAULT' ? column.level : asked, allowed) }, read(row, ref))
}

function foundBy({ query }: Plan, result: Result): QueryAnswer['found'] {
  if (result.kind === 'totals') return []
  return query.sources.map(({ table }, index) => ({ table, rows: rowsOf(result.tuples, index) }))
}

/** The rows of one source in these tuples, each once. */
function rowsOf(tuples: readonly Tuple[], source: number): number[] {
  return [...new Set(tuples.flatMap((tuple) => tuple[source]?.id ?? []))]
}
