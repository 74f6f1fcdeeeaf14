/** What core asks of time. */
export interface Clock {
  /** Nanoseconds since 1970-01-01T00:00:00Z. */
  now(): bigint
}
