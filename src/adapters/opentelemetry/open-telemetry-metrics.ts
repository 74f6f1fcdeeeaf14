/** Metrics with the OpenTelemetry API. Measurements go to the SDK that the application has registered. */
import type { Attributes, Meter, MetricsAPI } from '@opentelemetry/api'
import { VaultError } from '../../core/errors.ts'
import type { Metrics, OperationEnd } from '../../core/ports/observability.ts'
import { readOptions } from '../../core/util/options.ts'
import { createCacheTotals } from './cache-totals.ts'
import { NAME, VERSION } from './instrumentation-scope.ts'
import { createInstruments, type Instruments } from './instruments.ts'
import { loadApi } from './load-api.ts'

/** Options of `openTelemetryMetrics`. */
export interface OpenTelemetryMetricsOptions {
  /** The meter of all instruments. Default: the meter `strongroom` of the global provider, which can be registered later. */
  readonly meter?: Meter
}

/**
 * Returns metrics for one vault or for several: those of all are summed. Without a registered SDK nothing is recorded. docs/how-to/observe.md
 * lists the instruments.
 */
export function openTelemetryMetrics(options: OpenTelemetryMetricsOptions = {}): Metrics {
  const { meter } = readOptions(options, ['meter'], { of: 'openTelemetryMetrics' })
  if (meter !== undefined && typeof meter.createCounter !== 'function') {
    throw new VaultError('invalid_request', 'openTelemetryMetrics: `meter` must be a meter of the OpenTelemetry API.')
  }
  const caches = createCacheTotals()
  const globalMetrics = (): MetricsAPI =>
    loadApi('openTelemetryMetrics', "Or pass meter: metrics.getMeter('strongroom').").metrics
  if (meter === undefined) globalMetrics()
  let known: { readonly source: object; readonly instruments: Instruments } | undefined
  /** The API returns meters that record nothing until a provider is registered, so each new provider gets instruments. */
  const instruments = (): Instruments => {
    const source = meter ?? globalMetrics().getMeterProvider()
    if (known?.source !== source) {
      known = { source, instruments: createInstruments(meter ?? globalMetrics().getMeter(NAME, VERSION), caches.read) }
    }
    return known.instruments
  }
  return {
    operationEnded: (end) => recordEnd(instruments(), end),
    committed: (operations) => instruments().commits.record(operations),
    observeCaches(read) {
      instruments()
      return caches.add(read)
    },
  }
}

function recordEnd(
  { operations, durations, rowsRead, rowsWritten }: Instruments,
  { operation, table, failure, seconds, rowsRead: read, rowsWritten: written }: OperationEnd,
): void {
  const named: Attributes = { [`${NAME}.operation`]: operation }
  // The name that the semantic conventions have for the code of an error. Absent on success.
  const ended: Attributes = failure === undefined ? named : { ...named, 'error.type': failure }
  const inTable: Attributes = table === undefined ? named : { ...named, [`${NAME}.table`]: table }
  operations.add(1, ended)
  durations.record(seconds, ended)
  if (read > 0) rowsRead.add(read, inTable)
  if (written > 0) rowsWritten.add(written, inTable)
}
