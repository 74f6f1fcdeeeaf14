/** The instruments of a meter: their names, units, and the boundaries of their histograms. */
import type { Counter, Histogram, Meter } from '@opentelemetry/api'
import type { CacheReading } from '../../core/ports/observability.ts'
import { NAME } from './instrumentation-scope.ts'

/** What operations and commits are recorded with. Caches are observed. */
export interface Instruments {
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
export function createInstruments(meter: Meter, readCaches: () => readonly CacheReading[]): Instruments {
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
