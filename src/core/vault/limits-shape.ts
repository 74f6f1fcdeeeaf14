/** The shape of `limits` of a vault: the default and the range of each limit. */
import * as z from 'zod'
import type { Limits } from '../execution/context.ts'
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_ROWS, DEFAULT_TIMEOUT_MS, MAX_JSON_MEMBERS, QUERY_LIMITS } from '../limits.ts'

/** Records and lexemes of one request. Each is held in memory as a whole. */
const MAX_ITEMS = 1_000_000
/** A condition is parsed and evaluated by functions that call themselves: each level takes some of the stack. */
const MAX_DEPTH = 256
/** Every table of a query buffers rows, and the rows of each are joined with those of all before. */
const MAX_TABLES = 64
/** The longest time of a timer. */
const MAX_MS = 2 ** 31 - 1

/** The limits of a vault, each with its default. */
export const limitsShape = z.object(
  {
    maxRecords: limit(1000, MAX_ITEMS),
    maxPageSize: limit(1000, MAX_ITEMS),
    maxJsonMembers: limit(MAX_JSON_MEMBERS, MAX_ITEMS),
    maxQueryRecords: limit(QUERY_LIMITS.maxQueryRecords, MAX_ITEMS),
    maxQueryLength: limit(QUERY_LIMITS.maxQueryLength, MAX_ITEMS),
    maxQueryLexemes: limit(QUERY_LIMITS.maxQueryLexemes, MAX_ITEMS),
    maxQueryNesting: limit(QUERY_LIMITS.maxQueryNesting, MAX_DEPTH),
    maxQueryTables: limit(QUERY_LIMITS.maxQueryTables, MAX_TABLES),
    maxRowsRead: limit(DEFAULT_MAX_ROWS, Number.MAX_SAFE_INTEGER),
    queryTimeoutMs: limit(DEFAULT_TIMEOUT_MS, MAX_MS),
    maxJoinBytes: limit(DEFAULT_MAX_BYTES, Number.MAX_SAFE_INTEGER),
  },
  'must be an object',
) satisfies z.ZodType<Limits>

function limit(byDefault: number, highest: number) {
  const rule = `must be an integer from 1 to ${highest}`
  return z.int(rule).min(1, rule).max(highest, rule).default(byDefault)
}
