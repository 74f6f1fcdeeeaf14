/** Tracing with the OpenTelemetry API, which is loaded when it is first needed. Spans go to the SDK that the application has registered. */
import type { Span as ApiSpan, Attributes, Tracer } from '@opentelemetry/api'
import { VaultError } from '../../core/errors.ts'
import type { Span, SpanAttributes, Tracing } from '../../core/ports/observability.ts'
import { readOptions } from '../../core/util/options.ts'
import { requirePackage } from '../packages/require-package.ts'

/** Options of `openTelemetry`. */
export interface OpenTelemetryOptions {
  /**
   * The tracer of all spans. Default: the tracer `strongroom` of the global provider, which can be registered later. In a bundle pass
   * `trace.getTracer('strongroom')`: the default loads the package `@opentelemetry/api` when it is needed, where no bundler sees it.
   */
  readonly tracer?: Tracer
}

/**
 * Returns tracing for a vault. Each operation is one span of kind INTERNAL, a child of the active span of its caller; this needs the
 * asynchronous context manager of the SDK. Without a registered SDK nothing is recorded. Throws `failed_precondition` if there is neither
 * a tracer nor the package.
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Tracing {
  const { tracer = defaultTracer() } = readOptions(options, ['tracer'], { of: 'openTelemetry' })
  if (typeof tracer?.startActiveSpan !== 'function') {
    throw new VaultError('invalid_request', 'openTelemetry: `tracer` must be a tracer of the OpenTelemetry API.')
  }
  return {
    startActiveSpan: (name, attributes, work) =>
      tracer.startActiveSpan(name, { attributes: toAttributes(attributes) }, (span) => work(toSpan(span))),
  }
}

function defaultTracer(): Tracer {
  return loadApi('openTelemetry', "Or pass tracer: trace.getTracer('strongroom').").trace.getTracer(NAME, VERSION)
}

/** The trace id of a span that no SDK records. Source: W3C Trace Context. */
const INVALID_TRACE_ID = '0'.repeat(32)
/** `SpanStatusCode.ERROR` of the API. */
const ERROR_STATUS = 2

function toSpan(span: ApiSpan): Span {
  const { traceId } = span.spanContext()
  return {
    // Without a registered SDK the API returns a span whose trace id is all zeros.
    traceId: traceId === INVALID_TRACE_ID ? undefined : traceId,
    end(attributes, failure) {
      span.setAttributes(toAttributes(attributes))
      // Only the code, never `recordException`: message and stack of an error of a library can quote a value.
      if (failure !== undefined) span.setStatus({ code: ERROR_STATUS, message: failure })
      span.end()
    },
  }
}

function toAttributes(attributes: SpanAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`${NAME}.${name}`, value]))
}

/** Returns the API. Throws `failed_precondition` with the command that installs it. `user` needs it, and `otherwise` says what can be passed in its place. */
export function loadApi(user: string, otherwise: string): typeof import('@opentelemetry/api') {
  // What the package exports.
  return requirePackage({ user, name: '@opentelemetry/api', otherwise }) as typeof import('@opentelemetry/api')
}

/** Its name, and the prefix of names of attributes and instruments. */
export const NAME = 'strongroom'
/** The version of this package. A test compares it with package.json. */
export const VERSION = '0.1.0'
