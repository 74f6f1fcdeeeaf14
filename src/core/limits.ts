/** Every number the specification fixes or the design bounds, in one place. */

/** Characters (code points) a unique text value may have. Source: specification, "Limits". */
export const LONGEST_UNIQUE_TEXT = 2500
/** Records a page holds unless the caller says otherwise. Source: specification, "Limits". */
export const DEFAULT_PAGE = 25
/** Depth a JSON value may have. */
export const JSON_DEPTH = 64
/** Nodes (values of any kind) one JSON value may have. */
export const JSON_NODES = 100_000
/** Most positions or ids one error names. */
export const MOST_NAMED_IN_ERROR = 25
/** Longest table or column name. Source: semantics, "Schema". */
export const LONGEST_NAME = 63
/** Characters the text of one token may have before it is refused unread. */
export const LONGEST_TOKEN = 256
/** Ordinals a vault can give to tables and columns: a pointer spends 16 bits on them. */
export const MOST_SPACES = 65_535
/** Minutes a transient value lives unless its column says otherwise. Source: semantics, "Schema". */
export const DEFAULT_TTL_MINUTES = 60
/** Longest life of a transient value, in minutes. */
export const LONGEST_TTL_MINUTES = 20_160
/** Characters of a caller's own correlation id. Source: specification, "Limits". */
export const LONGEST_CLIENT_TRACE = 128
/** Highest number a lane of the audit trail may have: 16 of the 48 bits of a row id. */
export const MOST_LANES = 65_535
/** UTF-16 units a query or a policy statement may have. Source: reliability, "Limits against hostile input". */
export const LONGEST_QUERY_TEXT = 16_384
/** Lexemes a query or a policy statement may have. */
export const MOST_LEXEMES = 4000
/** How deep conditions may nest: parentheses and NOT each go one deeper. */
export const DEEPEST_NESTING = 64
/** Code points a pattern of LIKE may have between two `%`. */
export const LONGEST_PATTERN_PIECE = 1024
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
