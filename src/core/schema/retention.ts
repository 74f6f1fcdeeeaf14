/** How long records and values are kept. */

/** The rule of one table or column. */
export interface RetentionDefinition {
  /** An ISO 8601 period, such as `P7Y` or `P90D`. */
  readonly expiresAfter: string
  /** The DATE or DATETIME column that it counts from. Default: when the record was inserted, or the value was written. */
  readonly from?: string
  /** What becomes of an expired value of a column. A record without it is deleted. */
  readonly becomes?: 'null'
}
