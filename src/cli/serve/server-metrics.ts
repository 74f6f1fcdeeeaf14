/** The metrics of one process: operations of the vault, requests, connections and refusals, for Prometheus. */
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, type MetricObject, Registry } from 'prom-client'
import type { Metrics } from '../../index.ts'

/** What a process measures. Labels are names of operations and tables, codes, methods and statuses: never a value, an id or an address. */
export interface ServerMetrics {
  /** For `createVault`. */
  readonly ofVault: Metrics
  /** Calls `count` whenever the metrics are read. */
  observeConnections(count: () => number): void
  /** Counts a connection that was one too many. */
  connectionDropped(): void
  /** Counts a request that was answered, or whose client went away: then its status is 0. */
  requestEnded(request: { readonly method: string; readonly status: number; readonly seconds: number }): void
  /** Counts a refused credential. */
  credentialRefused(): void
  /** Counts a request that has to wait. */
  requestLimited(of: 'source' | 'key'): void
  /** Returns all as data, which other processes can add up. */
  read(): Promise<MetricObject[]>
}

/** In seconds: a read in process takes a fraction of a millisecond. */
const SECONDS = [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]
const OPERATIONS = [1, 2, 4, 8, 16, 32, 64, 128, 256]
/** A client can send any word as its method. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'])

/** Returns metrics that start at zero. */
export function createServerMetrics(): ServerMetrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'strongroom_http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its answer.',
    labelNames: ['method', 'status'],
    buckets: SECONDS,
    registers,
  })
  const dropped = new Counter({
    name: 'strongroom_http_dropped_connections_total',
    help: 'Connections beyond the limit.',
    registers,
  })
  const refused = new Counter({
    name: 'strongroom_credentials_refused_total',
    help: 'Requests whose credential is missing or not valid.',
    registers,
  })
  const limited = new Counter({
    name: 'strongroom_http_limited_requests_total',
    help: 'Requests that were answered 429 after too many refused credentials.',
    labelNames: ['by'],
    registers,
  })
  return {
    ofVault: vaultMetrics(registers),
    observeConnections(count) {
      const gauge: Gauge = new Gauge({
        name: 'strongroom_http_connections',
        help: 'Open connections.',
        registers,
        collect: () => gauge.set(count()),
      })
    },
    connectionDropped: () => dropped.inc(),
    requestEnded: ({ method, status, seconds }) =>
      requests.observe({ method: METHODS.has(method) ? method : 'other', status }, seconds),
    credentialRefused: () => refused.inc(),
    requestLimited: (by) => limited.inc({ by }),
    read: () => registry.getMetricsAsJSON(),
  }
}

/** Reads the caches of one vault. */
type CacheReader = Parameters<Metrics['observeCaches']>[0]

/** Returns the port through which a vault reports. The instruments are those of docs/how-to/observe.md. */
function vaultMetrics(registers: Registry[]): Metrics {
  const labelNames = ['operation', 'error'] as const
  const duration = new Histogram({
    name: 'strongroom_operation_duration_seconds',
    help: 'Duration of an operation, with its audit event.',
    labelNames,
    buckets: SECONDS,
    registers,
  })
  const rows = (name: string, help: string) => new Counter({ name, help, labelNames: ['operation', 'table'], registers })
  const read = rows('strongroom_rows_read_total', 'Rows that operations read.')
  const written = rows('strongroom_rows_written_total', 'Rows that operations wrote.')
  const commits = new Histogram({
    name: 'strongroom_commit_operations',
    help: 'Operations that one commit stored together.',
    buckets: OPERATIONS,
    registers,
  })
  const caches = new Set<CacheReader>()
  for (const kind of ['entries', 'hits', 'misses'] as const) {
    const gauge: Gauge = new Gauge({
      name: `strongroom_cache_${kind}`,
      help: `The ${kind} of the caches of the open vault.`,
      labelNames: ['cache'],
      registers,
      collect(): void {
        gauge.reset()
        for (const { cache, [kind]: number } of [...caches].flatMap((readCaches) => readCaches())) gauge.inc({ cache }, number)
      },
    })
  }
  return {
    operationEnded({ operation, table = '', failure = '', seconds, rowsRead, rowsWritten }) {
      duration.observe({ operation, error: failure }, seconds)
      if (rowsRead > 0) read.inc({ operation, table }, rowsRead)
      if (rowsWritten > 0) written.inc({ operation, table }, rowsWritten)
    },
    committed: (operations) => commits.observe(operations),
    observeCaches(readCaches) {
      caches.add(readCaches)
      return () => caches.delete(readCaches)
    },
  }
}

/** What a primary process measures of its workers. */
export interface PrimaryMetrics {
  workersReady(count: number): void
  workerDied(): void
  read(): Promise<MetricObject[]>
}

/** Returns the metrics of a primary process. */
export function createPrimaryMetrics(): PrimaryMetrics {
  const registry = new Registry()
  const registers = [registry]
  const ready = new Gauge({ name: 'strongroom_workers_ready', help: 'Workers that answer requests.', registers })
  const died = new Counter({
    name: 'strongroom_worker_deaths_total',
    help: 'Workers that died and were started again.',
    registers,
  })
  return {
    workersReady: (count) => ready.set(count),
    workerDied: () => died.inc(),
    read: () => registry.getMetricsAsJSON(),
  }
}

/** The metrics of several processes as one text, and its content type. */
export async function metricsText(processes: readonly (readonly MetricObject[])[]): Promise<{ type: string; text: string }> {
  const all = AggregatorRegistry.aggregate([...processes])
  return { type: all.contentType, text: await all.metrics() }
}
