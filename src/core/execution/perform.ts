/** Performs one operation, with its span, its unit of work, its audit event, the verb in its errors, and the log of its failures. */
import type { EventContext } from '../audit/event.ts'
import { outcomeOf, SUCCESS } from '../audit/outcome.ts'
import { retryingBarrier } from '../barrier/barrier.ts'
import { isVaultError, VaultError } from '../errors.ts'
import type { Span } from '../ports/tracing.ts'
import type { RecordedUnit } from '../unit-of-work/unit-of-work.ts'
import { readInput, toVaultError } from '../util/boundary.ts'
import type { OperationContext, SessionContext } from './context.ts'
import { EventBuilder } from './event-builder.ts'
import { executeAgain } from './execute-again.ts'
import type { Operation } from './operation.ts'
import { prefixed, recordedOutcome, withVerbOf } from './operation-errors.ts'
import { recordMismatches } from './record-mismatches.ts'
import { recordedInput, withNames } from './recorded-content.ts'
import { requestContextOf } from './request-context.ts'
import { type NoteEvent, runMeasured } from './run-measured.ts'
import { runTraced } from './run-traced.ts'

/** The members of an operation that do not depend on its types. */
type AnyOperation = Pick<Operation<never, never, never>, 'action' | 'verb' | 'recorded' | 'notFoundStatus'>

/**
 * Runs an operation and returns its result. A change and its event commit together; the event of a read, a refusal or a failure
 * commits before the result is returned. Throws `unavailable` if the event cannot be stored, `storage_full` if there is no space for it,
 * `aborted` if that lost to other writers, and `failed_precondition` after the vault was closed.
 */
export function perform<Given extends object, Request, Result>(
  session: SessionContext,
  operation: Operation<Given, Request, Result>,
  given: Given,
): Promise<Result> {
  const { tracing, measuring } = session
  if (tracing === undefined && measuring === undefined) return run(session, operation, { given, span: undefined })
  const name = operation.action.toLowerCase()
  const traced = (noteEvent?: NoteEvent): Promise<Result> =>
    tracing === undefined
      ? run(session, operation, { given, span: undefined, noteEvent })
      : runTraced(tracing, `strongroom.${name}`, (span) => run(session, operation, { given, span, noteEvent }))
  return measuring === undefined ? traced() : runMeasured(measuring, name, traced)
}

/** The input of a running operation, and who watches it. */
interface Started<Given> {
  readonly given: Given
  readonly span: Span | undefined
  readonly noteEvent?: NoteEvent | undefined
}

async function run<Given extends object, Request, Result>(
  session: SessionContext,
  operation: Operation<Given, Request, Result>,
  { given, span, noteEvent }: Started<Given>,
): Promise<Result> {
  const { lifetime, units } = session
  const joined = operation.joined === undefined ? undefined : session.joined
  const { action, resourceType } = operation
  const event = new EventBuilder()
  noteEvent?.(event)
  let requested: EventContext | undefined
  const requestContext = (): EventContext => {
    try {
      requested ??= requestContextOf(session, span)
      return requested
    } catch (error) {
      // The source of random bytes failed, so the event has no id. It is made outside the handlers of the operation's own errors.
      throw toVaultError(error, `${operation.verb} failed.`)
    }
  }
  lifetime.begin()
  joined?.begin()
  try {
    const unit = units.begin(() => {
      const context = requestContext()
      const content = recordedInput(session, operation, given)
      return (outcome, rows) =>
        event.build({ context, action, resourceType, content: withNames(content, event.names) }, outcome, rows)
    })
    const ending: Ending = { session, operation, requestContext }
    let result: Result
    try {
      const barrier = retryingBarrier(session.barrier, (mismatch) => event.addMismatch(mismatch))
      const context = { ...session, barrier, unit, event }
      const request = readInput(() => operation.parse(given, context))
      const shared = joined?.join(operation.joined, context, request)
      const answer = shared === undefined ? undefined : await shared
      const attempt = (current: OperationContext): Promise<Result> => {
        unit.beginAttempt()
        return operation.execute(current, request)
      }
      try {
        result = answer ?? (await attempt(context))
      } catch (error) {
        result = await executeAgain(context, error, attempt)
      }
    } catch (error) {
      throw await recordFailure(error, { unit, event, ending })
    }
    if (event.hasMismatches) await recordMismatches(event, ending)
    if (!unit.isRecorded) {
      try {
        await unit.record(SUCCESS)
      } catch (error) {
        throw unrecorded(error, ending)
      }
    }
    if (session.log !== undefined) for (const { error } of event.parts) if (error !== undefined) logFailure(error, ending)
    return result
  } finally {
    joined?.end()
    lifetime.end()
  }
}

/** The dependencies of the end of an operation. */
interface Ending {
  readonly session: SessionContext
  readonly operation: AnyOperation
  requestContext(): EventContext
}

/** Records a failed operation, and returns the error that its caller gets. */
async function recordFailure(
  error: unknown,
  { unit, event, ending }: { readonly unit: RecordedUnit; readonly event: EventBuilder; readonly ending: Ending },
): Promise<unknown> {
  const { session, operation } = ending
  if (event.hasMismatches) await recordMismatches(event, ending)
  const thrown = withVerbOf(operation, error)
  const outcome = recordedOutcome(session, operation, { error, thrown })
  try {
    await unit.record(outcome)
  } catch (error) {
    const failure = unrecorded(error, ending)
    // The change may be stored, and the error of its event would say that it is not.
    return isVaultError(thrown, 'outcome_unknown') ? thrown : failure
  }
  logFailure(thrown, ending)
  return thrown
}

/** Logs that the event of an operation could not be stored, and returns the error that its caller gets. Throws if the transaction has ended. */
function unrecorded(error: unknown, { session, operation, requestContext }: Ending): VaultError {
  const fields = { operation: operation.action, requestID: requestContext().requestID, code: outcomeOf(error).failure }
  session.log?.error(fields, 'audit event not stored')
  session.lifetime.assertNotEnded()
  const cause = VaultError.isGenuine(error) ? toVaultError(error, '') : undefined
  const sentence = 'The audit event could not be stored, so no result is returned. Check the storage, then retry.'
  const code = isVaultError(error, 'storage_full') || isVaultError(error, 'aborted') ? error.code : 'unavailable'
  return new VaultError(code, `${prefixed(operation.verb, sentence)} ${cause?.message ?? ''}`.trim(), {}, { cause })
}

/** Logs a failure that the operator must check as an error, and a refusal as a warning. Other errors are not logged. */
function logFailure(error: VaultError, { session: { log }, operation, requestContext }: Ending): void {
  if (log === undefined) return
  const { code: failure } = error
  const isServerError = error.httpStatus >= 500
  if (!isServerError && failure !== 'forbidden') return
  const { requestID, traceID } = requestContext()
  const fields = { operation: operation.action, requestID, traceID, code: failure }
  if (isServerError) log.error(fields, 'operation failed')
  else log.warn(fields, 'operation refused')
}
