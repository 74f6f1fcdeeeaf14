/** Tracing with the OpenTelemetry API. Spans go to the SDK that the application has registered. */
import type { Span as ApiSpan, Attributes, Tracer } from '@opentelemetry/api'
import { isValidTraceId, SpanStatusCode, trace } from '@opentelemetry/api'
import { VaultError } from '../../core/errors.ts'
import type { Span, SpanAttributes, Tracing } from '../../core/ports/tracing.ts'
import { readOptions } from '../../core/util/read-options.ts'
import { NAME, VERSION } from './instrumentation-scope.ts'

/** Options of `openTelemetry`. */
export interface OpenTelemetryOptions {
  /** The tracer of all spans. Default: the tracer `strongroom` of the global provider, which can be registered later. */
  readonly tracer?: Tracer
}

/**
 * Returns tracing for a vault. Each operation is one span of kind INTERNAL, a child of the active span of its caller; this needs the
 * asynchronous context manager of the SDK. Without a registered SDK nothing is recorded.
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Tracing {
  const { tracer = trace.getTracer(NAME, VERSION) } = readOptions('openTelemetry', options)
  if (typeof tracer?.startActiveSpan !== 'function') {
    throw new VaultError('invalid_request', 'openTelemetry: `tracer` must be a tracer of the OpenTelemetry API.')
  }
  return {
    startActiveSpan: (name, attributes, work) =>
      tracer.startActiveSpan(name, { attributes: toAttributes(attributes) }, (span) => work(toSpan(span))),
  }
}

function toSpan(span: ApiSpan): Span {
  const { traceId } = span.spanContext()
  return {
    // Without a registered SDK the API returns a span whose trace id is all zeros.
    traceId: isValidTraceId(traceId) ? traceId : undefined,
    end(attributes, failure) {
      span.setAttributes(toAttributes(attributes))
      // Only the code, never `recordException`: message and stack of an error of a library can quote a value.
      if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure })
      span.end()
    },
  }
}

function toAttributes(attributes: SpanAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`${NAME}.${name}`, value]))
}
