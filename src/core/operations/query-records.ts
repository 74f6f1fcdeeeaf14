/** Query: runs a SELECT over sealed and plain columns, and returns at most `limits.maxQueryRecords` records. */
import * as z from 'zod'
import { fault, words } from '../errors.ts'
import type { Operation } from '../execution/operation.ts'
import type { QueryValue } from '../expressions/parameter-values.ts'
import type { QueryLimits } from '../limits.ts'
import type { QueryBudget } from '../queries/budget-meter.ts'
import { readQuery } from '../queries/query-text.ts'
import { type QueryRecord, type QueryRecordFields, type QueryRequest, runQuery } from '../queries/run-query.ts'
import { scanningOf } from '../queries/scan-rows.ts'
import { ON_LOWERED, type OnLowered } from '../row-access/evaluate-access.ts'
import { RECORD_ID_NAME } from '../schema/names.ts'
import type { SqlQuery } from '../sql/sql.ts'
import { assertOptions } from '../util/options.ts'
import { parseSignal, type Signal } from '../util/signal.ts'

/** Options of a query. */
export interface QueryOptions {
  /** The name of the record id in queries and records. Default `svc_id`. */
  readonly idName?: string
  /** An `AbortSignal`. When it is aborted, the query throws `cancelled`. */
  readonly signal?: Signal
  /** The resources that the query can use. Default: `maxRowsRead`, `queryTimeoutMs` and `maxQueryBytes` of the limits of the vault. */
  readonly budget?: Partial<QueryBudget>
  /** Maximum number of records of this query, up to `maxQueryRecords` of the limits of the vault, which is the default. */
  readonly maxRecords?: number
  /** `throw`: throw `forbidden` rather than return a record with masked, redacted or hidden fields. */
  readonly onLowered?: OnLowered
}

/** The options of a query without any. They are not checked again for each query. */
export const NO_QUERY_OPTIONS: QueryOptions = Object.freeze({})

/** Input of a query. */
export interface QueryInput {
  readonly query: string | SqlQuery
  /** The values of its parameters: the first for `$1`. None for a query made by `sql`, which has them. */
  readonly values?: readonly QueryValue[] | undefined
  readonly options?: QueryOptions
}

/** The records of a query. `Row` is the type that the caller claims for their fields. */
export interface QueryOutcome<Row extends object = QueryRecordFields> {
  readonly records: QueryRecord<Row>[]
  /** True if records were left out, because the query has more of them than it can return. Those that its own LIMIT leaves out do not count. */
  readonly isCut: boolean
}

/**
 * Returns the records of a SELECT. Throws `invalid_request`, `unsupported`, `out_of_range`, `limit_exceeded` or `not_found` for its
 * text and its values, `forbidden` for a condition on data that the caller cannot see, `unprocessable` for types that do not fit together.
 */
export const query: Operation<QueryInput, QueryRequest, QueryOutcome> = {
  action: 'QUERY',
  resourceType: 'VAULT',
  verb: 'Query',
  members: ['query', 'values', 'options'],
  notFoundStatus: 400,
  recorded: {
    query: 'value',
    values: 'value',
    idName: 'omitted',
    signal: 'omitted',
    budget: 'omitted',
    maxRecords: 'omitted',
    onLowered: ON_LOWERED,
  },
  parse({ query: given, values, options = NO_QUERY_OPTIONS }, { layout, limits, event }) {
    const text = readQuery(given, { layout, idName: idNameIn(options), limits }, values)
    event.setNames(text.names)
    assertQueryOptions(options)
    const { maxRowsRead, queryTimeoutMs, maxQueryBytes } = limits
    const budget = { maxRows: maxRowsRead, timeoutMs: queryTimeoutMs, maxBytes: maxQueryBytes, ...options.budget }
    const refusesLowered = options.onLowered === 'throw'
    return { ...text, limits: limitsOf(limits, options), budget, signal: parseSignal(options.signal), refusesLowered }
  },
  async execute(context, request) {
    const { event, layout, access } = context
    const { records, found, shown, isCut } = await runQuery({ ...scanningOf(context), layout, access }, request)
    for (const { table, rows } of found) event.addRows(table, rows)
    event.addViews([...shown].map((level) => ({ level })))
    return { records, isCut }
  },
}

function limitsOf(limits: QueryLimits, { maxRecords }: QueryOptions): QueryLimits {
  if (maxRecords === undefined) return limits
  return { ...limits, maxQueryRecords: Math.min(maxRecords, limits.maxQueryRecords) }
}

/** Returns the name of the record id in a query. Its shape is checked later. */
function idNameIn(options: unknown): string {
  const given = typeof options === 'object' && options !== null && 'idName' in options ? options.idName : undefined
  return typeof given === 'string' ? given : RECORD_ID_NAME
}

const amount = z.number().min(0).max(Number.MAX_SAFE_INTEGER).optional()

const optionsShape = z.object({
  idName: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,62}$/)
    .optional(),
  signal: z.custom((signal) => typeof signal === 'object' && signal !== null && 'aborted' in signal).optional(),
  maxRecords: z.int().min(1).optional(),
  onLowered: z.literal('throw').optional(),
  budget: z.object({ maxRows: amount, timeoutMs: amount, maxBytes: amount }).optional(),
})

/** The supported options, for the error. */
const SUPPORTED =
  'idName, signal (AbortSignal), budget { maxRows, timeoutMs, maxBytes } (numbers from 0), maxRecords (an integer from 1), onLowered (throw)'

/** Throws `invalid_request` for options of another shape than declared, `out_of_range` for an amount of the budget. */
function assertQueryOptions(options: unknown): asserts options is QueryOptions {
  if (options === NO_QUERY_OPTIONS) return
  assertOptions<QueryOptions>(options, ['idName', 'signal', 'budget', 'maxRecords', 'onLowered'], {
    note: 'Values are a list in front of the options: query(text, [value], options).',
  })
  if (options.budget !== undefined)
    assertOptions<QueryBudget>(options.budget, ['maxRows', 'timeoutMs', 'maxBytes'], { member: 'budget' })
  const parsed = optionsShape.safeParse(options)
  if (parsed.success) return
  const path = parsed.error.issues[0]?.path.map(String) ?? []
  const isAmount = (path[0] === 'budget' && path.length > 1) || path[0] === 'maxRecords'
  throw fault(
    isAmount ? 'out_of_range' : 'invalid_request',
  )`Invalid option "${words(path.join('.'))}". Supported: ${words(SUPPORTED)}.`
}
