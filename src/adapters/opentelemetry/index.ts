/** Entry point "strongroom/opentelemetry": operations as spans of the application's own traces. */
export type { Span, SpanAttributes, Tracing } from '../../core/ports/tracing.ts'
export { type OpenTelemetryOptions, openTelemetry } from './open-telemetry.ts'
