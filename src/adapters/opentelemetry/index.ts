/** Entry point "strongroom/opentelemetry": operations as spans in the traces of the application. */
export type { Span, SpanAttributes, Tracing } from '../../core/ports/tracing.ts'
export { type OpenTelemetryOptions, openTelemetry } from './open-telemetry.ts'
