/** Metrics with the OpenTelemetry API. Measurements of all vaults, and the sums of their caches, go to the SDK that the application has registered. */
import type { Attributes, Counter, Histogram, Meter, MetricsAPI } from '@opentelemetry/api'
import { VaultError } from '../../core/errors.ts'
import type { CacheReading, Metrics, OperationEnd } from '../../core/ports/observability.ts'
import { readOptions } from '../../core/util/options.ts'
import { loadApi, NAME, VERSION } from './open-telemetry.ts'

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

/** What operations and commits are recorded with. Caches are observed. */
interface Instruments {
  readonly operations: Counter
  readonly durations: Histogram
  readonly rowsRead: Counter
  readonly rowsWritten: Counter
  readonly commits: Histogram
}

/** In seconds. Those of the semantic conventions for database clients, with two shorter ones: a read in process takes a fraction of a millisecond. */
const SECONDS = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]
const OPERATIONS = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/** Creates the instruments. `readCaches` is called whenever the SDK collects. */
function createInstruments(meter: Meter, readCaches: () => readonly CacheReading[]): Instruments {
  const entries = meter.createObservableUpDownCounter(`${NAME}.cache.entries`, {
    description: 'Entries of a cache.',
    unit: '{entry}',
  })
  const hits = meter.createObservableCounter(`${NAME}.cache.hits`, {
    description: 'Look-ups in a cache that found an entry.',
    unit: '{lookup}',
  })
  const misses = meter.createObservableCounter(`${NAME}.cache.misses`, {
    description: 'Look-ups in a cache that found none.',
    unit: '{lookup}',
  })
  meter.addBatchObservableCallback(
    (result) => {
      for (const reading of readCaches()) {
        const attributes = { [`${NAME}.cache`]: reading.cache }
        result.observe(entries, reading.entries, attributes)
        result.observe(hits, reading.hits, attributes)
        result.observe(misses, reading.misses, attributes)
      }
    },
    [entries, hits, misses],
  )
  return {
    operations: meter.createCounter(`${NAME}.operations`, { description: 'Operations that ended.', unit: '{operation}' }),
    durations: meter.createHistogram(`${NAME}.operation.duration`, {
      description: 'Duration of an operation, with its audit event.',
      unit: 's',
      advice: { explicitBucketBoundaries: SECONDS },
    }),
    rowsRead: meter.createCounter(`${NAME}.rows.read`, { description: 'Rows that operations read.', unit: '{row}' }),
    rowsWritten: meter.createCounter(`${NAME}.rows.written`, { description: 'Rows that operations wrote.', unit: '{row}' }),
    commits: meter.createHistogram(`${NAME}.commit.operations`, {
      description: 'Operations that one commit stored together.',
      unit: '{operation}',
      advice: { explicitBucketBoundaries: OPERATIONS },
    }),
  }
}

/** The caches of the open vaults, and the counts of the closed ones. */
interface CacheTotals {
  /** Adds the caches of a vault. Returns a function that removes them, and keeps their counts. */
  add(read: () => readonly CacheReading[]): () => void
  /** Returns one reading for each cache. */
  read(): readonly CacheReading[]
}

/** Returns totals without a vault. */
function createCacheTotals(): CacheTotals {
  const open = new Set<() => readonly CacheReading[]>()
  let ended: readonly CacheReading[] = []
  return {
    add(read) {
      open.add(read)
      return () => {
        if (!open.delete(read)) return
        const last = read().map((reading) => ({ ...reading, entries: 0 }))
        ended = summed([...ended, ...last])
      }
    },
    read: () => summed([...ended, ...[...open].flatMap((read) => read())]),
  }
}

function summed(readings: readonly CacheReading[]): CacheReading[] {
  const byCache = new Map<string, CacheReading>()
  for (const { cache, entries, hits, misses } of readings) {
    const sum = byCache.get(cache) ?? { cache, entries: 0, hits: 0, misses: 0 }
    byCache.set(cache, { cache, entries: sum.entries + entries, hits: sum.hits + hits, misses: sum.misses + misses })
  }
  return [...byCache.values()]
}
