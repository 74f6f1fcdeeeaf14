/** What bounds a query: the numbers the specification fixes, and the defaults a host may change. */

/** Records one query answers at most. Source: specification, "Query". */
export const MOST_QUERY_RECORDS = 25
/** Tables one query may join. */
export const MOST_JOINED_TABLES = 8
/** LIKE and ILIKE one query may hold. */
export const MOST_PATTERNS = 128
/** Rows one query may read. */
export const ROW_BUDGET = 1_000_000
/** Milliseconds one query may take. */
export const TIME_BUDGET_MS = 30_000
/** Bytes the rows held for joins may take, as estimated. */
export const MEMORY_BUDGET = 256 * 1024 * 1024
