/** Metrics of a vault: counts, durations and sizes. They receive names of operations and tables, and codes; never a value, a token or an id. */

/** How an operation ended. */
export interface OperationEnd {
  /** The operation as spans name it: `insert`, `get_by_tokens`. */
  readonly operation: string
  /** The table of the operation; undefined if it has none, or names one that does not exist. */
  readonly table: string | undefined
  /** The code of its error; undefined on success. */
  readonly failure: string | undefined
  /** How long it took, with its audit event, in seconds. */
  readonly seconds: number
  readonly rowsRead: number
  readonly rowsWritten: number
}

/** A cache at one moment. */
export interface CacheReading {
  /** `access`: what callers with the same roles can do. `query_forms`: the forms of recent queries. */
  readonly cache: string
  readonly entries: number
  /** Look-ups since the vault was opened that found an entry, and that did not. */
  readonly hits: number
  readonly misses: number
}

/** Receives what a vault does. Its errors change no operation. */
export interface Metrics {
  operationEnded(end: OperationEnd): void
  /** Called after each commit of the vault, with the number of operations that it stored. */
  committed(operations: number): void
  /** Keeps `read`, to call it whenever the metrics are collected, until the returned function is called. */
  observeCaches(read: () => readonly CacheReading[]): () => void
}
