/** The arguments of queries: the values can be between the query and what follows. */
import type { QueryValue } from '../expressions/parameter-values.ts'
import { NO_QUERY_OPTIONS, type QueryInput, type QueryOptions } from '../operations/query-records.ts'
import type { Caller } from '../policy/caller.ts'
import type { SqlQuery } from '../sql/sql.ts'

type Values = readonly QueryValue[]

/** Returns the input of the operation. Whatever is before options counts as values, so that neither is ignored. */
export function toQueryInput(
  query: string | SqlQuery,
  second: Values | QueryOptions | undefined,
  third: QueryOptions | undefined,
): QueryInput {
  if (third === undefined && !isList(second)) return { query, options: second === undefined ? NO_QUERY_OPTIONS : second }
  // The operation refuses values that are not a list.
  return { query, values: second as Values, options: third === undefined ? NO_QUERY_OPTIONS : third }
}

/** Returns the values and the caller of a query to explain. */
export function toExplained(
  second: Values | Caller,
  third: Caller | undefined,
): { readonly values?: Values; readonly caller: Caller } {
  return isList(second) ? { values: second, caller: third as Caller } : { caller: second }
}

/** `Array.isArray` for a readonly list. False where it throws, for a Proxy that was revoked: the operation refuses that as options. */
function isList(given: unknown): given is Values {
  try {
    return Array.isArray(given)
  } catch {
    return false
  }
}
