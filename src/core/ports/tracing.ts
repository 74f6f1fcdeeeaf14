/** Tracing of operations. It receives names, codes and counts, never a value, a token or an id. */

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
