/** Clock for timestamps, expiry and time limits. */
export interface Clock {
  /** Returns nanoseconds since 1970-01-01T00:00:00Z. May go backwards: callers that need rising times handle it. */
  now(): bigint
}
