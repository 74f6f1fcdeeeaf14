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
