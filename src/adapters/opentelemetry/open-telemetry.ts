/** Tracing over OpenTelemetry's API: spans go to whatever SDK the application has registered, or nowhere. */
import type { Span as ApiSpan, Attributes, Tracer } from '@opentelemetry/api'
import { isValidTraceId, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Span, SpanAttributes, Tracing } from '../../core/ports/tracing.ts'

/** Names the spans' instrumentation scope, and begins the names of their attributes. */
const NAME = 'strongroom'
/** The version of this package, as package.json has it; a test compares them. */
const VERSION = '0.1.0'

/** Where spans are begun. */
export interface OpenTelemetryOptions {
  /** Begins every span. Default: the tracer `strongroom` of the globally registered provider, which may be registered later. */
  readonly tracer?: Tracer
}

/**
 * Tracing for a vault. Each operation is one span of kind INTERNAL, a child of the span that is active where it is called; it needs the
 * SDK's asynchronous context manager for that. Where no SDK is registered it costs a call and records nothing.
 */
export function openTelemetry({ tracer = trace.getTracer(NAME, VERSION) }: OpenTelemetryOptions = {}): Tracing {
  return {
    startActiveSpan: (name, facts, work) =>
      tracer.startActiveSpan(name, { attributes: toAttributes(facts) }, (span) => work(toSpan(span))),
  }
}

function toSpan(span: ApiSpan): Span {
  const { traceId } = span.spanContext()
  return {
    // Without a registered SDK the API hands out a span whose trace id is all zeros, which names nothing.
    traceId: isValidTraceId(traceId) ? traceId : undefined,
    end(facts, failure) {
      span.setAttributes(toAttributes(facts))
      // The code alone, and never `recordException`: the message or the stack of a foreign error may quote a value.
      if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure })
      span.end()
    },
  }
}

function toAttributes(facts: SpanAttributes): Attributes {
  return Object.fromEntries(Object.entries(facts).map(([name, fact]) => [`${NAME}.${name}`, fact]))
}
