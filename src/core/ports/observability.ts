/** What a vault reports: spans, metrics and log lines. They receive names, codes, counts and durations; never a value, a token, an id or key material. */

/** Attributes of a span, by name. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

/** The span of one operation. */
export interface Span {
  /** 32 lower-case hex digits: the id of the trace. Undefined if the span is not recorded. */
  readonly traceId: string | undefined
  /** Ends the span, once. `failure` is the code of the error the operation ended with, undefined on success. */
  end(attributes: SpanAttributes, failure: string | undefined): void
}

/** Starts spans. */
export interface Tracing {
  /**
   * Starts a span named `strongroom.<operation>` as a child of the active one, and runs `work` with it as the active span. Returns
   * or rejects as `work` does. Does not end the span: `work` calls `span.end`.
   */
  startActiveSpan<T>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<T>): Promise<T>
}

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

/** A logger such as pino: fields first, then the message. Its methods return at once and must not throw. */
export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
