/** Runs a SELECT in these steps: parse, resolve, plan, run, show. Whatever can be refused is refused before a row is read. */
import { encodeRecordIds } from '../barrier/record-ids.ts'
import { type Fields, showValue } from '../barrier/reveal.ts'
import { fault, words } from '../errors.ts'
import { LanguageError } from '../expressions/language-error.ts'
import { PatternError } from '../expressions/like.ts'
import type { Clock, Scheduler } from '../ports/time.ts'
import { type LoweredLevel, levelShown, NONE_LOWERED, type RedactionLevel, redact } from '../redaction.ts'
import { notInPlainText } from '../row-access/evaluate-access.ts'
import type { Table } from '../schema/layout.ts'
import { explainPlan, type IsKnown, type QueryPlan } from '../sql/explain-plan.ts'
import type { Plan } from '../sql/plan.ts'
import type { AggregateOutput, Outputs, Source, ValueOutput } from '../sql/query.ts'
import { toQueryError } from '../sql/scope.ts'
import { at, required } from '../util/lists.ts'
import type { Signal } from '../util/signal.ts'
import type { JsonValue } from '../values/column-type.ts'
import { createBudgetMeter, type QueryBudget } from './budget-meter.ts'
import { type Planning, planText, type QueryText } from './query-text.ts'
import { type PlanResult, runPlan } from './run-plan.ts'
import type { Scanning } from './scan-rows.ts'
import type { BufferedRow, ReadBuffered, Tuple } from './scanned-rows.ts'

/** The dependencies of running a query. A query never writes to storage. */
export interface QueryContext extends Planning, Scanning {
  readonly clock: Clock
  readonly scheduler: Scheduler
}

/** A query, the budget it can use, and the signal that cancels it. */
export interface QueryRequest extends QueryText {
  readonly budget: QueryBudget
  readonly signal: Signal | undefined
  /** Whether a result with lowered fields is refused. */
  readonly refusesLowered: boolean
}

/** The fields of a record of a result, by key. docs/sql.md says what the keys are. */
export type QueryRecordFields = Fields

/** One record of a result. `Row` is the type that the caller claims for its fields. */
export interface QueryRecord<Row extends object = QueryRecordFields> {
  readonly fields: Row
  /** The levels of the fields that are masked or redacted, or HIDDEN: the cell is not shown in its record, and null stands for it. */
  readonly levels: { readonly [K in keyof Row & string]?: LoweredLevel | 'HIDDEN' }
}

/** The records of a query, and the rows behind them. */
export interface QueryResult {
  readonly records: QueryRecord[]
  /** True if there are more records, which the limit of the vault leaves out. */
  readonly isCut: boolean
  /** At which levels values are shown of columns that the schema itself lowers; none for aggregates. */
  readonly shown: ReadonlySet<RedactionLevel>
  /** Rows behind the records, by table and possibly repeated: of a group its first row; none for aggregates over all rows. */
  readonly found: readonly { readonly table: Table; readonly rows: readonly number[] }[]
}

/** Returns the records of a query, and the rows behind them. Throws what docs/sql.md lists. */
export async function runQuery(context: QueryContext, request: QueryRequest): Promise<QueryResult> {
  const plan = planText(context, request)
  const meter = createBudgetMeter(context, request.budget, request.signal)
  let result: PlanResult
  try {
    result = await runPlan(context, plan, meter)
  } catch (error) {
    throw runError(request.text, error)
  }
  const shown = new Set<RedactionLevel>()
  return {
    records: show(context, plan, result, { ...request, shown }),
    shown,
    found: foundBy(plan, result),
    isCut: result.kind === 'rows' && result.isCut,
  }
}

/**
 * Returns the explained plan of a query: what storage filters, what is opened, and what allows each column. Reads no row and contains no value. With
 * `isKnown`, it names no other column of the policy's conditions.
 */
export function explainQuery(context: Planning, query: QueryText, isKnown?: IsKnown): QueryPlan {
  return explainPlan(planText(context, query), query.idName, isKnown)
}

/** Language errors that depend on values get a position in the text, like other errors of the text. */
function runError(text: string, error: unknown): unknown {
  if (error instanceof LanguageError) return toQueryError(text, error)
  if (error instanceof PatternError)
    return fault('unprocessable')`A LIKE pattern read from a column is invalid. ${words(error.message)}`
  return error
}

function show(
  { barrier }: Scanning,
  { query }: Plan,
  result: PlanResult,
  { idName, refusesLowered, shown }: Pick<QueryRequest, 'idName' | 'refusesLowered'> & { readonly shown: Set<RedactionLevel> },
): QueryRecord[] {
  if (result.kind === 'totals') {
    return result.values === undefined ? [] : [{ fields: totalFields(query.outputs, result.values), levels: NONE_LOWERED }]
  }
  const { tuples, read, totals } = result
  const items = itemsOf(query.outputs)
  const values = items.filter((item): item is ValueOutput => !('name' in item))
  const shownIds = values.filter(({ ref }) => ref.column === undefined)
  const ids = query.sources.map(({ table }, index) =>
    shownIds.some(({ ref }) => ref.source === index) ? encodeIds(barrier, table, rowsOf(tuples, index)) : NO_IDS,
  )
  const idOf = ({ id }: BufferedRow, source: number) => required(required(ids[source]).get(id), 'The public id of a row')
  if (refusesLowered) {
    const lowered = tuples.flatMap((tuple) => values.filter((one) => levelIn(tuple[one.ref.source], one) !== 'PLAIN_TEXT'))
    assertNoneLowered(query.sources, new Set(lowered), idName)
  }
  const reader = { read, idOf }
  return tuples.map((tuple, index) => {
    const results = totals === undefined ? [] : [...at(totals, index)]
    const fields: Fields = {}
    let levels: Record<string, Exclude<ShownLevel, 'PLAIN_TEXT'>> | undefined
    for (const one of items) {
      if ('name' in one) {
        setMember(fields, one.key, required(results.shift()))
        continue
      }
      const row = tuple[one.ref.source]
      const level = levelIn(row, one)
      setMember(fields, one.key, valueAt(one, level, row, reader))
      const { column } = one.ref
      if (row !== undefined && level !== 'HIDDEN' && column !== undefined && column.level !== 'PLAIN_TEXT') shown.add(level)
      if (level === 'PLAIN_TEXT') continue
      levels ??= {}
      setMember(levels, one.key, level)
    }
    return { fields, levels: levels ?? NONE_LOWERED }
  })
}

/** The outputs of the records of a result with rows or groups. */
function itemsOf(outputs: Outputs): readonly (ValueOutput | AggregateOutput)[] {
  if (outputs.kind === 'totals') return []
  return outputs.kind === 'rows' ? outputs.values : outputs.items
}

/** Sets an own member, also of a name such as __proto__. */
function setMember<Value>(members: Record<string, Value>, key: string, value: Value): void {
  if (key in members) Object.defineProperty(members, key, { value, writable: true, enumerable: true, configurable: true })
  else members[key] = value
}

const NO_IDS: ReadonlyMap<number, string> = new Map()

/** Returns the public ids of rows. */
function encodeIds({ ring }: Scanning['barrier'], table: Table, rows: readonly number[]): ReadonlyMap<number, string> {
  const distinct = [...new Set(rows)]
  const encoded = encodeRecordIds(ring, table, distinct)
  return new Map(distinct.map((row, position) => [row, at(encoded, position)]))
}

/** Throws `forbidden` if there are lowered outputs. */
function assertNoneLowered(sources: readonly Source[], lowered: ReadonlySet<ValueOutput>, idName: string): void {
  const names = [...lowered].map(({ ref }) => ({
    table: at(sources, ref.source).table.name,
    column: ref.column?.name ?? idName,
  }))
  if (names.length > 0) throw notInPlainText(names)
}

function totalFields(outputs: Outputs, values: readonly JsonValue[]): Fields {
  const aggregates = outputs.kind === 'totals' ? outputs.aggregates : []
  return Object.fromEntries(aggregates.map(({ key }, index) => [key, required(values[index])]))
}

interface RowReader {
  readonly read: ReadBuffered
  idOf(row: BufferedRow, source: number): string
}

/** Returns a value at a level. Null stands for what its row does not show, and for an outer join without a row. */
function valueAt({ ref }: ValueOutput, level: ShownLevel, row: BufferedRow | undefined, { read, idOf }: RowReader): JsonValue {
  if (row === undefined || level === 'HIDDEN') return null
  return ref.column === undefined
    ? redact(level, idOf(row, ref.source))
    : showValue({ column: ref.column, level }, read(row, ref))
}

/** What a record id has of a column. */
const ID = { level: 'PLAIN_TEXT' } as const

/** The level of a cell. */
type ShownLevel = RedactionLevel | 'HIDDEN'

/** Returns the lower of the requested level and the level the row grants. The null of an outer join without a row stands for no value. */
function levelIn(row: BufferedRow | undefined, { ref: { column }, redaction }: ValueOutput): ShownLevel {
  if (row === undefined) return 'PLAIN_TEXT'
  if (column === undefined) return levelShown(ID, redaction, 'PLAIN_TEXT')
  const allowed: RedactionLevel | undefined = row.grants.level(column)
  return allowed === undefined ? 'HIDDEN' : levelShown(column, redaction, allowed)
}

function foundBy({ query }: Plan, result: PlanResult): QueryResult['found'] {
  if (result.kind === 'totals') return []
  return query.sources.map(({ table }, index) => ({ table, rows: rowsOf(result.tuples, index) }))
}

/** Returns the row ids of one source in these tuples. A join can repeat them. */
function rowsOf(tuples: readonly Tuple[], source: number): number[] {
  const rows: number[] = []
  for (const { [source]: row } of tuples) if (row !== undefined) rows.push(row.id)
  return rows
}
