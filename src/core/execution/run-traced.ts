/** Runs an operation in a span. Errors of the tracing change neither its result nor its error. */
import { outcomeOf } from '../audit/event.ts'
import type { Span, Tracing } from '../ports/observability.ts'

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
