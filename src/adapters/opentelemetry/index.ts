/** Entry point "strongroom/opentelemetry": operations as spans in the traces of the application, and as metrics. */
export type { CacheReading, Metrics, OperationEnd, Span, SpanAttributes, Tracing } from '../../core/ports/observability.ts'
export { type OpenTelemetryOptions, openTelemetry } from './open-telemetry.ts'
export { type OpenTelemetryMetricsOptions, openTelemetryMetrics } from './open-telemetry-metrics.ts'
