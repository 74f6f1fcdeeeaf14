/** Limits that the specification or the design sets. */

/** Maximum length of a unique text value, in code points. Source: specification, "Limits". */
export const LONGEST_UNIQUE_TEXT = 2500
/** Default number of records or events of a page. Source: specification, "Limits". */
export const DEFAULT_PAGE = 25
/** Maximum nesting depth of a JSON value. */
export const JSON_DEPTH = 64
/** Maximum number of nodes (values of any kind) in one JSON value. */
export const JSON_NODES = 100_000
/** Maximum number of positions or ids in one error message. */
export const MOST_NAMED_IN_ERROR = 25
/** Maximum length of a table or column name, in characters: PostgreSQL cuts names at 63 bytes. */
export const LONGEST_NAME = 63
/** Maximum length of a token, in UTF-16 units. Longer text is rejected without further checks. */
export const LONGEST_TOKEN = 256
/** Maximum number of object ids for tables and columns: a pointer has 16 bits for them. */
export const MOST_SPACES = 65_535
/** Default lifetime of a transient value, in minutes. Source: docs/tokens.md. */
export const DEFAULT_TTL_MINUTES = 60
/** Maximum lifetime of a transient value, in minutes: two weeks. */
export const LONGEST_TTL_MINUTES = 20_160
/** Maximum length of the `clientTraceID` of a caller, in UTF-16 units. Source: specification, "Limits". */
export const LONGEST_CLIENT_TRACE = 128
/** Highest number of an audit chain: 16 of the 48 bits of a row id. */
export const MOST_LANES = 65_535
/** Maximum length of a query or a policy statement, in UTF-16 units. */
export const LONGEST_QUERY_TEXT = 16_384
/** Maximum number of lexemes in a query or a policy statement. */
export const MOST_LEXEMES = 4000
/** Maximum nesting of conditions. Parentheses and NOT each add one level. */
export const DEEPEST_NESTING = 64
/** Maximum number of code points between two `%` of a LIKE pattern. */
export const LONGEST_PATTERN_PIECE = 1024
/** Maximum number of records that a query returns. Source: specification, "Query". */
export const MOST_QUERY_RECORDS = 25
/** Maximum number of tables in a query. */
export const MOST_JOINED_TABLES = 8
/** Maximum number of LIKE and ILIKE in a query. */
export const MOST_PATTERNS = 128
/** Default number of rows that a query can read. */
export const ROW_BUDGET = 1_000_000
/** Default time limit of a query, in milliseconds. */
export const TIME_BUDGET_MS = 30_000
/** Default limit of the estimated memory for the joins of a query, in bytes. */
export const MEMORY_BUDGET = 256 * 1024 * 1024
