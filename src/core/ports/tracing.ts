/** What core asks of tracing. It is handed names, codes and counts, never a value, a token or an id. */

/** Facts about an operation that a span may keep. */
export type SpanFacts = Readonly<Record<string, string | number | boolean>>

/** One operation under way, as a trace sees it. */
export interface Span {
  /** 32 hex digits naming the trace the span belongs to; undefined where nothing is recorded. */
  readonly traceId: string | undefined
  /** Ends the span. `failure` is the code of the error it ended with, undefined on success. */
  end(facts: SpanFacts, failure: string | undefined): void
}

/** Begins spans. What work does inside is the span's child. */
export interface Tracing {
  /** Runs work inside a new span named `strongroom.<operation>`; whoever begins it ends it. */
  within<T>(name: string, facts: SpanFacts, work: (span: Span) => Promise<T>): Promise<T>
}
