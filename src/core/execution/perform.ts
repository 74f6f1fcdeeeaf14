/** Performs one operation, with its span, its unit of work, its audit event, the verb in its errors, and the log of its failures. */
import { type EventContext, type Outcome, outcomeOf, SUCCESS } from '../audit/event.ts'
import { type Barrier, retryingBarrier } from '../barrier/barrier.ts'
import { isKeyError } from '../catalog/key-errors.ts'
import { type ErrorCode, Fault, fault, isVaultError, VaultError } from '../errors.ts'
import type { Span } from '../ports/observability.ts'
import { resolveEnd } from '../unit-of-work/gather.ts'
import type { BuildEvent, RecordedUnit } from '../unit-of-work/unit-of-work.ts'
import { readInput, toVaultError } from '../util/boundary.ts'
import { assertMembers, assertOptions } from '../util/options.ts'
import type { OperationContext, SessionContext } from './context.ts'
import { EventBuilder, recordedInput, requestContextOf, withNames } from './event-builder.ts'
import { assertCurrent, executeAgain, movedOr } from './execute-again.ts'
import { type NoteEvent, runMeasured, runTraced } from './measured.ts'
import { executeOnce, type PerformOptions, parseOnce } from './once.ts'
import type { Operation } from './operation.ts'
import { recordMismatches } from './record-mismatches.ts'

/** The members of an operation that do not depend on its types. */
type AnyOperation = Pick<Operation<never, never, never>, 'action' | 'resourceType' | 'verb' | 'recorded' | 'notFoundStatus'>

/**
 * Runs an operation and returns its result. A change and its event commit together; the event of a read, a refusal or a failure
 * commits before the result is returned. If the event cannot be stored, throws `unavailable`, `storage_full` if there is no space for it,
 * `aborted` if that lost to other writers, or `internal` if the storage refuses it for good; the error of the key provider if a new root key cannot be had; `failed_precondition` after the vault was closed,
 * and `invalid_request` for an input that is no object.
 */
export function perform<Given extends object, Request, Result>(
  session: SessionContext,
  operation: Operation<Given, Request, Result>,
  given: Given,
  options?: PerformOptions,
): Promise<Result> {
  if (typeof given !== 'object' || given === null)
    return Promise.reject(fault('invalid_request')`The input of an operation must be an object.`)
  const { tracing, measuring } = session
  if (tracing === undefined && measuring === undefined) return run(session, operation, { given, options, span: undefined })
  const name = operation.action.toLowerCase()
  const traced = (noteEvent?: NoteEvent): Promise<Result> =>
    tracing === undefined
      ? run(session, operation, { given, options, span: undefined, noteEvent })
      : runTraced(tracing, `strongroom.${name}`, (span) => run(session, operation, { given, options, span, noteEvent }))
  return measuring === undefined ? traced() : runMeasured(measuring, name, traced)
}

/** The input of a running operation, and who watches it. */
interface Started<Given> {
  readonly given: Given
  readonly options: PerformOptions | undefined
  readonly span: Span | undefined
  readonly noteEvent?: NoteEvent | undefined
}

async function run<Given extends object, Request, Result>(
  of: SessionContext,
  operation: Operation<Given, Request, Result>,
  { given, options, span, noteEvent }: Started<Given>,
): Promise<Result> {
  const session = of.current()
  const { lifetime, units } = session
  const joined = operation.asOne?.keys.turn === undefined ? undefined : session.joined
  const event = new EventBuilder()
  noteEvent?.(event)
  const running = new Running(session, operation, span)
  const age = lifetime.begin()
  joined?.begin()
  try {
    const unit = units.begin(() => running.eventOf(event, given))
    let result: Result
    try {
      const barrier = barrierOf(session, event)
      const context = { ...session, barrier, unit, event }
      const { generation } = session.catalog.keys
      const input = { given, options }
      const parsed = parseGiven(context, operation, input)
      const shared = joined?.join(operation.asOne, context, parsed.request)
      const attempt = (current: OperationContext): Promise<Result> => {
        // Tables and columns are those of a layout: with another one the input is parsed again.
        const { request, write } = current.layout === context.layout ? parsed : parsedAgain(current, operation, input, parsed)
        unit.beginAttempt()
        return write === undefined ? operation.execute(current, request) : executeOnce(current, operation, request, write)
      }
      try {
        result = await (shared === undefined ? attempt(context) : resolveEnd(await shared, () => attempt(context)))
        if (!unit.isStored && !session.catalog.isCertain(generation)) await assertCurrent(context, generation)
      } catch (error) {
        result = await executeAgain(context, await movedOr(context, error, generation), attempt)
      }
    } catch (error) {
      throw await recordFailure(error, { unit, event, running })
    }
    if (event.hasMismatches) await recordMismatches(event, running)
    if (!unit.isRecorded) {
      try {
        await unit.record(SUCCESS)
      } catch (error) {
        throw unrecorded(error, running)
      }
    }
    unit.keepReads?.()
    if (session.crowdedIndexes !== undefined && session.crowdedIndexes.crowded.size > 0) await session.crowdedIndexes.relieve()
    if (session.log !== undefined) for (const { error } of event.parts) if (error !== undefined) logFailure(error, running)
    return result
  } finally {
    joined?.end()
    lifetime.end(age)
  }
}

/** Returns the request of an operation, and what it stores once, if it has an idempotency key. */
function parseGiven<Given extends object, Request, Result>(
  context: OperationContext,
  operation: Operation<Given, Request, Result>,
  { given, options }: Pick<Started<Given>, 'given' | 'options'>,
) {
  const request = readInput(() => {
    assertMembers(given, operation.members)
    return operation.parse(given, context)
  })
  const key = options === undefined ? undefined : readInput(() => readKey(options))
  const write =
    key === undefined || operation.once === undefined ? undefined : readInput(() => parseOnce(context, operation, given, key))
  return { request, write }
}

/** Returns the request as it is with another layout. */
function parsedAgain<Given extends object, Request, Result>(
  context: OperationContext,
  operation: Operation<Given, Request, Result>,
  input: Pick<Started<Given>, 'given' | 'options'>,
  parsed: ReturnType<typeof parseGiven<Given, Request, Result>>,
) {
  if (operation.again === undefined) return parseGiven(context, operation, input)
  return { ...parsed, request: operation.again(parsed.request, context) }
}

/** Returns the idempotency key. Throws `invalid_request` for another option. */
function readKey(options: PerformOptions): unknown {
  assertOptions<PerformOptions>(options, ['idempotencyKey'])
  return options.idempotencyKey
}

/** Returns the barrier of one operation. Not inside `run`: its function would keep all that a running operation has, for as long as the barrier lives. */
function barrierOf({ barrier }: SessionContext, event: EventBuilder): Barrier {
  return retryingBarrier(barrier, (mismatch) => event.addMismatch(mismatch))
}

/** An operation that runs, as its events and the end of it need it. A class, because each operation makes one. */
class Running {
  readonly session: SessionContext
  readonly operation: AnyOperation
  readonly #span: Span | undefined
  #requested: EventContext | undefined

  constructor(session: SessionContext, operation: AnyOperation, span: Span | undefined) {
    this.session = session
    this.operation = operation
    this.#span = span
  }

  /** Returns the caller and the request as the events record them, the same each time. */
  requestContext(): EventContext {
    try {
      this.#requested ??= requestContextOf(this.session, this.#span)
      return this.#requested
    } catch (error) {
      // The source of random bytes failed, so the event has no id. It is made outside the handlers of the operation's own errors.
      throw toVaultError(error, `${this.operation.verb} failed.`)
    }
  }

  /** Returns what makes the event of the operation. Its input is read now. */
  eventOf(event: EventBuilder, given: object): BuildEvent {
    const { action, resourceType } = this.operation
    const context = this.requestContext()
    const content = recordedInput(this.session, this.operation, given)
    return (outcome, rows) => event.build({ context, action, resourceType, content: withNames(content, event) }, outcome, rows)
  }
}

/** Records a failed operation, and returns the error that its caller gets. */
async function recordFailure(
  error: unknown,
  { unit, event, running }: { readonly unit: RecordedUnit; readonly event: EventBuilder; readonly running: Running },
): Promise<unknown> {
  const { session, operation } = running
  if (event.hasMismatches) await recordMismatches(event, running)
  const thrown = withVerbOf(operation, error)
  const outcome = recordedOutcome(session, operation, { error, thrown })
  try {
    await unit.record(outcome)
  } catch (lost) {
    const failure = unrecorded(lost, running)
    // Both are of a transaction of the application that has ended or failed, in which nothing runs.
    if (
      HOST_CODES.has(thrown.code) &&
      isVaultError(lost, thrown.code) &&
      VaultError.isGenuine(error) &&
      lost.message === error.message
    )
      return thrown
    // The change may be stored, and the error of its event would say that it is not.
    return isVaultError(thrown, 'outcome_unknown') ? thrown : failure
  }
  logFailure(thrown, running)
  return thrown
}

/** What is thrown in a transaction of the application that was not begun, has ended, or has failed. */
const HOST_CODES: ReadonlySet<ErrorCode> = new Set(['invalid_request', 'internal'])

/** Logs that the event of an operation could not be stored, and returns the error that its caller gets. Throws if the transaction has ended. */
function unrecorded(error: unknown, running: Running): VaultError {
  const { session, operation } = running
  const { failure } = outcomeOf(error)
  const fields = { operation: operation.action, requestID: running.requestContext().requestID, code: failure }
  session.log?.error(fields, 'audit event not stored')
  session.lifetime.assertNotEnded()
  // The event needs a root key that another process added. It is not the storage that must be checked.
  if (isKeyError(error)) return error
  const cause = VaultError.isGenuine(error) ? toVaultError(error, '') : undefined
  // The application has ended the transaction that the vault has joined, or has closed the vault, which waited no longer.
  if (isVaultError(error, 'invalid_request') || isVaultError(error, 'failed_precondition'))
    return new VaultError(error.code, prefixed(operation.verb, error.message), {}, { cause })
  const code = UNRECORDED_CODES[failure] ?? 'internal'
  // What lost to other writers says itself what to run again.
  const advice = code === 'unavailable' || code === 'storage_full' ? ' Check the storage, then retry.' : ''
  const sentence = `The audit event could not be stored, so no result is returned.${advice}`
  return new VaultError(code, `${prefixed(operation.verb, sentence)} ${cause?.message ?? ''}`.trim(), {}, { cause })
}

/** What a caller gets after a failure that passes, or of a damaged catalog. After any other the same event would be refused again. */
const UNRECORDED_CODES: Readonly<Partial<Record<ErrorCode, ErrorCode>>> = {
  unavailable: 'unavailable',
  outcome_unknown: 'unavailable',
  aborted: 'aborted',
  storage_full: 'storage_full',
  data_loss: 'data_loss',
}

/** Logs a failure that the operator must check as an error, and a refusal as a warning. Other errors are not logged. */
function logFailure(error: VaultError, running: Running): void {
  const { log } = running.session
  if (log === undefined) return
  const { code: failure } = error
  const isServerError = error.httpStatus >= 500
  if (!isServerError && failure !== 'forbidden') return
  const { requestID, traceID } = running.requestContext()
  const fields = { operation: running.operation.action, requestID, traceID, code: failure }
  if (isServerError) log.error(fields, 'operation failed')
  else log.warn(fields, 'operation refused')
}

/** How errors name an operation, and the HTTP status of its `not_found`. */
export type NamedOperation = Pick<Operation<never, never, never>, 'verb' | 'notFoundStatus'>

/** Returns the outcome of a failure for its event, with names masked that the schema does not have. `thrown` is the error as the caller gets it. */
export function recordedOutcome(
  { layout }: Pick<SessionContext, 'layout'>,
  { verb }: NamedOperation,
  { error, thrown }: { readonly error: unknown; readonly thrown: VaultError },
): Outcome {
  const outcome = outcomeOf(thrown)
  if (!Fault.isFault(error)) return outcome
  return {
    ...outcome,
    message: prefixed(
      verb,
      error.recordedText((text) => layout.names.has(text)),
    ),
  }
}

/** Returns a fault with the verb before its message and the HTTP status of its operation; any other error as it may leave the vault. */
export function withVerbOf({ verb, notFoundStatus }: NamedOperation, error: unknown): VaultError {
  if (!Fault.isFault(error)) return toVaultError(error, `${verb} failed.`)
  const httpStatus = error.code === 'not_found' ? notFoundStatus : undefined
  return new VaultError(error.code, prefixed(verb, error.message), error.details, { httpStatus })
}

/** Returns a message that begins with the verb: "Insert failed. …" */
export function prefixed(verb: string, message: string): string {
  return `${verb} failed. ${message}`
}

/** Runs work that is not an operation, and puts a verb before the message of its faults. */
export function withVerb<T>(verb: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw withVerbOf({ verb }, error)
  }
}
