/** The arguments of methods as the input of their operations: of an insert of one record, and of queries, whose values can be between query and options. */
import type { QueryValue } from '../expressions/parameter-values.ts'
import type { InsertInput, InsertOptions } from '../operations/insert-records.ts'
import { NO_QUERY_OPTIONS, type QueryInput, type QueryOptions } from '../operations/query-records.ts'
import type { Caller } from '../policy/caller.ts'
import type { SqlQuery } from '../sql/sql.ts'

type Values = readonly QueryValue[]

/** Options of an insert of one record, with its tokens, which a list has beside the fields of each record. */
export type InsertOneOptions = InsertOptions & { readonly tokens?: unknown }

/** Returns the input for one record. Options are read inside the operation, so that a getter that throws there leaves an event. */
export function toInsertInput(table: string, fields: unknown, given: InsertOneOptions): InsertInput {
  return {
    table,
    get records() {
      return [{ fields, tokens: given?.tokens }]
    },
    get options() {
      // What is no object, the operation refuses.
      if (typeof given !== 'object' || given === null || Array.isArray(given)) return given
      const { tokens: _, ...options } = given
      return options
    },
  }
}

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
