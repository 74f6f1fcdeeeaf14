/** Performs one operation: its span, its unit of work, its one audit event, the verb in front of its errors, and the log of its failures. */
import { v4 as uuid } from 'uuid'
import type { EventContext } from '../audit/event.ts'
import { type Outcome, outcomeOf, SUCCESS } from '../audit/outcome.ts'
import { recordShape } from '../audit/record-shape.ts'
import { traceIdOf } from '../audit/trace-parent.ts'
import { Fault, isVaultError, statusOf, VaultError } from '../errors.ts'
import type { Span } from '../ports/tracing.ts'
import type { RecordedUnit } from '../unit-of-work/unit-of-work.ts'
import { toHex } from '../util/bytes.ts'
import type { SessionContext } from './context.ts'
import { EventBuilder } from './event-builder.ts'
import type { Operation } from './operation.ts'

/** What failures need to know of an operation, whatever its input and result are. */
type AnyOperation = Pick<Operation<never, never, never>, 'action' | 'verb' | 'recorded' | 'notFoundStatus'>

/**
 * Runs an operation and returns its result. A change and its event commit together; the event of a read, a refusal or a
 * failure commits before this returns. Throws `unavailable` where the event cannot be stored.
 */
export function perform<Given extends object, Request, Answer>(
  session: SessionContext,
  operation: Operation<Given, Request, Answer>,
  given: Given,
): Promise<Answer> {
  const { tracing } = session
  if (tracing === undefined) return run(session, operation, { given, span: undefined })
  return tracing.startActiveSpan(`strongroom.${operation.action.toLowerCase()}`, {}, async (span) => {
    let failure: string | undefined
    try {
      return await run(session, operation, { given, span })
    } catch (error) {
      failure = outcomeOf(error).failure
      throw error
    } finally {
      endQuietly(span, failure)
    }
  })
}

async function run<Given extends object, Request, Answer>(
  session: SessionContext,
  operation: Operation<Given, Request, Answer>,
  { given, span }: { readonly given: Given; readonly span: Span | undefined },
): Promise<Answer> {
  const { action, resourceType } = operation
  const event = new EventBuilder()
  let requested: EventContext | undefined
  const requestContext = (): EventContext => {
    requested ??= requestContextOf(session, span)
    return requested
  }
  const unit = session.units.begin(() => {
    const context = requestContext()
    const content = recordedInput(session, operation, given)
    return (outcome) => ({ context, action, resourceType, content, ...event.build(outcome) })
  })
  const ending: Ending = { session, operation, requestContext }
  let answer: Answer
  try {
    const context = { ...session, unit, event }
    answer = await operation.execute(context, operation.parse(given, context))
  } catch (error) {
    await record(unit, recordedOutcome(session, operation, error), ending)
    logFailure(error, ending)
    throw withVerbOf(operation, error)
  }
  if (!unit.isRecorded) await record(unit, SUCCESS, ending)
  return answer
}

/** What the end of an operation uses: its session, itself, and the ids of its request. */
interface Ending {
  readonly session: SessionContext
  readonly operation: AnyOperation
  requestContext(): EventContext
}

/** The input as its event keeps it; empty for one that cannot be read. */
function recordedInput({ layout }: Pick<SessionContext, 'layout'>, { recorded }: AnyOperation, given: object): string {
  try {
    const { options, ...members }: { readonly options?: unknown } = given
    const input = typeof options === 'object' && options !== null ? { ...members, ...options, ...members } : members
    return recordShape(input, recorded, (text) => layout.names.has(text))
  } catch {
    return ''
  }
}

/** The outcome of a failure as its event keeps it: without names that the schema does not have. */
function recordedOutcome({ layout }: Pick<SessionContext, 'layout'>, operation: AnyOperation, error: unknown): Outcome {
  const { code, message } = outcomeOf(withVerbOf(operation, error))
  if (!(error instanceof Fault)) return { code, message }
  return {
    code,
    message: prefixed(
      operation.verb,
      error.recordedText((text) => layout.names.has(text)),
    ),
  }
}

/** A failure as its caller reads it: the verb before a fault, and the HTTP status that its operation documents. Other errors stay as they are. */
function withVerbOf({ verb, notFoundStatus }: Pick<AnyOperation, 'verb' | 'notFoundStatus'>, error: unknown): unknown {
  if (!(error instanceof Fault)) return error
  const httpStatus = error.code === 'not_found' ? notFoundStatus : undefined
  return new VaultError(error.code, prefixed(verb, error.message), error.details, { httpStatus })
}

function prefixed(verb: string, message: string): string {
  return `${verb} failed. ${message}`
}

/** Runs work that is no operation, and puts a verb before its faults. */
export function withVerb<T>(verb: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw withVerbOf({ verb }, error)
  }
}

/** Stores the event of an operation that stored none with a change. */
async function record(unit: RecordedUnit, outcome: Outcome, { session, operation, requestContext }: Ending): Promise<void> {
  try {
    await unit.record(outcome)
  } catch (error) {
    const fields = { operation: operation.action, requestID: requestContext().requestID, code: outcomeOf(error).failure }
    session.log?.error(fields, 'audit event not stored')
    const cause = isVaultError(error) ? error : undefined
    const sentence = 'The audit event could not be stored, so no result is returned. Check the storage, then retry.'
    throw new VaultError('unavailable', `${prefixed(operation.verb, sentence)} ${cause?.message ?? ''}`.trim(), {}, { cause })
  }
}

/** UTF-16 units of an email address that an event keeps; no address is longer. */
const MAX_EMAIL_LENGTH = 320

/** Who asks, and in which request. Ids that events require and the caller did not give are generated. */
function requestContextOf({ caller, barrier }: SessionContext, span: Span | undefined): EventContext {
  const { traceparent, traceID, requestID, ...given } = caller.request ?? {}
  const email = caller.context?.email
  return {
    ipAddress: '',
    authMode: 'STS',
    jwtID: '',
    accessType: 'API',
    ...given,
    actor: caller.actor,
    actorType: caller.actorType,
    requestID: requestID ?? uuid({ random: barrier.entropy.bytes(16) }),
    traceID: traceID ?? traceIdOf(traceparent) ?? span?.traceId ?? toHex(barrier.entropy.bytes(16)),
    ...(typeof email === 'string' && email.length <= MAX_EMAIL_LENGTH ? { userEmail: email } : {}),
  }
}

/** Ends a span. A span that throws changes nothing: the operation has ended. */
function endQuietly(span: Span, failure: string | undefined): void {
  try {
    span.end({}, failure)
  } catch {
    // The result of the operation matters more than its span.
  }
}

/** Logs what the host must look into as an error, and a refusal as a warning. */
function logFailure(error: unknown, { session: { log }, operation, requestContext }: Ending): void {
  if (log === undefined) return
  const { failure } = outcomeOf(error)
  const isOurs = statusOf(error).http >= 500
  if (!isOurs && failure !== 'forbidden') return
  const { requestID, traceID } = requestContext()
  const fields = { operation: operation.action, requestID, traceID, code: failure }
  if (isOurs) log.error(fields, 'operation failed')
  else log.warn(fields, 'operation refused')
}
