/** Runs an operation in a span, and reports its end to the metrics. Their errors change neither its result nor its error. */
import { outcomeOf } from '../audit/event.ts'
import type { Metrics, Span, Tracing } from '../ports/observability.ts'
import type { Stopwatch } from '../ports/time.ts'
import type { EventBuilder } from './event-builder.ts'

/** Metrics that never throw, as `quietMetrics` returns them, and what durations are measured with. */
export interface Measuring {
  readonly metrics: Metrics
  readonly stopwatch: Stopwatch
}

/** Notes the event of an operation, which counts its rows. */
export type NoteEvent = (event: EventBuilder) => void

/** Runs an operation, and returns its result. `operation` as spans name it. */
export async function runMeasured<T>(
  { metrics, stopwatch }: Measuring,
  operation: string,
  work: (noteEvent: NoteEvent) => Promise<T>,
): Promise<T> {
  const began = stopwatch.now()
  let event: EventBuilder | undefined
  let failure: string | undefined
  try {
    return await work((begun) => {
      event = begun
    })
  } catch (error) {
    failure = outcomeOf(error).failure
    throw error
  } finally {
    const seconds = (stopwatch.now() - began) / MILLISECONDS_PER_SECOND
    const { read, written } = event?.countRows() ?? NO_ROWS
    const rowsWritten = failure === undefined ? written : 0
    metrics.operationEnded({ operation, table: event?.table, failure, seconds, rowsRead: read, rowsWritten })
  }
}

const NO_ROWS = { read: 0, written: 0 }

const MILLISECONDS_PER_SECOND = 1000

function quietly<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

/** Returns metrics that never throw, so that their errors change no operation. */
export function quietMetrics(metrics: Metrics): Metrics {
  return {
    operationEnded: (end) => void quietly(() => metrics.operationEnded(end)),
    committed: (operations) => void quietly(() => metrics.committed(operations)),
    observeCaches(read) {
      const stop = quietly(() => metrics.observeCaches(read))
      return () => void (typeof stop === 'function' && quietly(stop))
    },
  }
}

/** Runs an operation once, in a span. Errors of the tracing change neither its result nor its error. */
export async function runTraced<T>(tracing: Tracing, name: string, work: (span: Span | undefined) => Promise<T>): Promise<T> {
  let result: Promise<T> | undefined
  const begin = (span: Span | undefined): Promise<T> => {
    result ??= work(span)
    return result
  }
  try {
    await tracing.startActiveSpan(name, {}, (span) => {
      const ended = endAfter(span, begin(span))
      ended.catch(() => {}) // The tracing may drop it. The error is thrown below.
      return ended
    })
  } catch {
    // The error of the operation, which is thrown below, or one of the tracing.
  }
  return begin(undefined)
}

/** Returns the result of an operation, after its span has ended. */
async function endAfter<T>(span: Span, result: Promise<T>): Promise<T> {
  let failure: string | undefined
  try {
    return await result
  } catch (error) {
    failure = outcomeOf(error).failure
    throw error
  } finally {
    endQuietly(span, failure)
  }
}

/** Ends a span. Ignores its errors, because the operation has ended. */
function endQuietly(span: Span, failure: string | undefined): void {
  try {
    span.end({}, failure)
  } catch {
    // The result of the operation matters more than its span.
  }
}
