/** Limits that the specification or the design sets. */

/** Maximum length of a unique text value, in code points. Source: specification, "Limits". */
export const MAX_UNIQUE_TEXT_LENGTH = 2500
/** Default number of records or events of a page. Source: specification, "Limits". */
export const DEFAULT_PAGE_SIZE = 25
/** Maximum number of events of a page. Source: specification, "GET /v1/audit/events". */
export const MAX_EVENT_PAGE_SIZE = 100
/** Maximum nesting depth of a JSON value. */
export const MAX_JSON_DEPTH = 64
/** Default maximum number of values of any kind in one value of a JSON or ARRAY column, the value itself included. */
export const MAX_JSON_MEMBERS = 10_000
/** Number of such values, each with as many members as it can have, in one request. */
export const FULL_JSON_VALUES = 10
/** Maximum length of a table or column name, in characters: PostgreSQL cuts names at 63 bytes. */
export const MAX_NAME_LENGTH = 63
/** Maximum length of a token, in UTF-16 units. Longer text is rejected without further checks. */
export const MAX_TOKEN_LENGTH = 256
/** Maximum number of object ids for tables and columns: a pointer has 16 bits for them. */
export const MAX_OBJECT_IDS = 65_535
/** Default lifetime of a transient value, in minutes. Source: docs/tokens.md. */
export const DEFAULT_TTL_MINUTES = 60
/** Maximum lifetime of a transient value, in minutes: two weeks. */
export const MAX_TTL_MINUTES = 20_160
/** Maximum length of the `clientTraceID` of a caller, in UTF-16 units. Source: specification, "Limits". */
export const MAX_CLIENT_TRACE_LENGTH = 128
/** Maximum length of the context of a caller, in bytes of JSON text. */
export const MAX_CONTEXT_BYTES = 16 * 1024
/** Maximum nesting depth of the context of a caller. The context itself is the first level. */
export const MAX_CONTEXT_DEPTH = 8
/** Maximum number of values of any kind in the context of a caller. */
export const MAX_CONTEXT_NODES = 1000
/** Highest number of an audit chain: 16 of the 48 bits of a row id. */
export const MAX_CHAINS = 65_535
/** Default maximum length of a query, and that of a policy statement, in UTF-16 units. */
export const MAX_QUERY_LENGTH = 16_384
/** Default maximum number of lexemes in a query, and that in a policy statement. */
export const MAX_LEXEMES = 4000
/** Default maximum nesting of the conditions of a query, and that of a policy statement. Parentheses and NOT each add one level. */
export const MAX_NESTING = 64
/** Maximum number of code points between two `%` of a LIKE pattern. */
export const MAX_PATTERN_PIECE_LENGTH = 1024
/** Default maximum number of records that a query returns. Source: specification, "Query". */
export const MAX_QUERY_RECORDS = 25
/** Default maximum number of tables in a query. */
export const MAX_JOINED_TABLES = 8
/** Maximum number of LIKE and ILIKE in a query. */
export const MAX_PATTERNS = 128
/** Default number of rows that a query can read. */
export const DEFAULT_MAX_ROWS = 1_000_000
/** Default time limit of a query, in milliseconds. */
export const DEFAULT_TIMEOUT_MS = 30_000
/** Default limit of the estimated memory for the joins, the order and the groups of a query, in bytes. */
export const DEFAULT_MAX_BYTES = 256 * 1024 * 1024
/** Maximum length of a file that a column can allow, in bytes: 1 TiB. */
export const MAX_FILE_BYTES = 2 ** 40
/** Default maximum length of a file, in bytes: 1 GiB. */
export const DEFAULT_MAX_FILE_BYTES = 2 ** 30
/** Length of a piece of a file in bytes. Each piece is sealed alone. */
export const PIECE_BYTES = 64 * 1024
/** Maximum length of a file name, in UTF-16 units. */
export const MAX_FILE_NAME_LENGTH = 255
/** Validity of a ticket to upload or download a file, in minutes. Source: specification, "Limits". */
export const TICKET_MINUTES = 15

/** Limits of queries, and whether their language has the extensions. The application can set them. */
export interface QueryLimits {
  /** Maximum number of records that a query returns; one without LIMIT, or with a higher one, returns as many. Default 25. */
  readonly maxQueryRecords: number
  /** Maximum length of a query, in UTF-16 units. Default 16,384. */
  readonly maxQueryLength: number
  /** Maximum number of words, values and signs in a query. Default 4,000. */
  readonly maxQueryLexemes: number
  /** Maximum nesting of the conditions of a query. Parentheses and NOT each add one level. Default 64. */
  readonly maxQueryNesting: number
  /** Maximum number of tables in a query. Default 8. */
  readonly maxQueryTables: number
  /** Whether queries have ORDER BY, GROUP BY, COUNT(DISTINCT), IN, BETWEEN, `<=`, `>=` and `<>`. Source: docs/sql.md. Default true. */
  readonly queryExtensions: boolean
}

/** The default limits of queries. The texts of policies have the same. */
export const QUERY_LIMITS: QueryLimits = {
  maxQueryRecords: MAX_QUERY_RECORDS,
  maxQueryLength: MAX_QUERY_LENGTH,
  maxQueryLexemes: MAX_LEXEMES,
  maxQueryNesting: MAX_NESTING,
  maxQueryTables: MAX_JOINED_TABLES,
  queryExtensions: true,
}
