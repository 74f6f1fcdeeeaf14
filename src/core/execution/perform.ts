/** Performs one operation, with its span, its unit of work, its audit event, the verb in its errors, and the log of its failures. */
import { v4 as uuid } from 'uuid'
import type { EventContext, EventDraft } from '../audit/event.ts'
import { type Outcome, outcomeOf, SUCCESS } from '../audit/outcome.ts'
import { recordShape } from '../audit/record-shape.ts'
import { toRuns } from '../audit/row-runs.ts'
import { traceIdOf } from '../audit/trace-parent.ts'
import { CATALOG_MOVED, reportingBarrier, UNKNOWN_KEY } from '../barrier/barrier.ts'
import { Fault, fault, isVaultError, VaultError } from '../errors.ts'
import type { Span, Tracing } from '../ports/tracing.ts'
import type { Column, Table } from '../schema/layout.ts'
import type { RecordedUnit } from '../unit-of-work/unit-of-work.ts'
import { readInput, toVaultError } from '../util/boundary.ts'
import { toHex } from '../util/bytes.ts'
import { type RetryPolicy, retry } from '../util/retry.ts'
import type { OperationContext, SessionContext } from './context.ts'
import { EventBuilder, type NamesRead } from './event-builder.ts'
import type { Operation } from './operation.ts'

/** The members of an operation that do not depend on its types. */
type AnyOperation = Pick<Operation<never, never, never>, 'action' | 'verb' | 'recorded' | 'notFoundStatus'>

/**
 * Runs an operation and returns its result. A change and its event commit together; the event of a read, a refusal or a failure
 * commits before the result is returned. Throws `unavailable` if the event cannot be stored, `storage_full` if there is no space for it,
 * and `failed_precondition` after the vault was closed.
 */
export function perform<Given extends object, Request, Result>(
  session: SessionContext,
  operation: Operation<Given, Request, Result>,
  given: Given,
): Promise<Result> {
  const { tracing } = session
  if (tracing === undefined) return run(session, operation, { given, span: undefined })
  const name = `strongroom.${operation.action.toLowerCase()}`
  return runTraced(tracing, name, (span) => run(session, operation, { given, span }))
}

/** Runs an operation once, in a span. Errors of the tracing change neither its result nor its error. */
async function runTraced<T>(tracing: Tracing, name: string, work: (span: Span | undefined) => Promise<T>): Promise<T> {
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

async function run<Given extends object, Request, Result>(
  session: SessionContext,
  operation: Operation<Given, Request, Result>,
  { given, span }: { readonly given: Given; readonly span: Span | undefined },
): Promise<Result> {
  const { lifetime, units } = session
  const { action, resourceType } = operation
  const event = new EventBuilder()
  let requested: EventContext | undefined
  const requestContext = (): EventContext => {
    requested ??= requestContextOf(session, span)
    return requested
  }
  lifetime.begin()
  try {
    const unit = units.begin(() => {
      const context = requestContext()
      const content = recordedInput(session, operation, given)
      return (outcome) => ({ context, action, resourceType, content: withNames(content, event.names), ...event.build(outcome) })
    })
    const ending: Ending = { session, operation, requestContext }
    let result: Result
    try {
      const barrier = reportingBarrier(session.barrier, (mismatch) => event.addMismatch(mismatch))
      const context = { ...session, barrier, unit, event }
      const request = readInput(() => operation.parse(given, context))
      result = await executeUpToDate(context, (current) => {
        unit.beginAttempt()
        return operation.execute(current, request)
      })
    } catch (error) {
      throw await recordFailure(error, { unit, event, ending })
    }
    if (event.hasMismatches) await recordMismatches(event, ending)
    if (!unit.isRecorded) await record(unit, SUCCESS, ending)
    return result
  } finally {
    lifetime.end()
  }
}

/** Records a failed operation, and returns the error that its caller gets. */
async function recordFailure(
  error: unknown,
  { unit, event, ending }: { readonly unit: RecordedUnit; readonly event: EventBuilder; readonly ending: Ending },
): Promise<unknown> {
  const { session, operation } = ending
  if (event.hasMismatches) await recordMismatches(event, ending)
  const thrown = withVerbOf(operation, error)
  try {
    await record(unit, recordedOutcome(session, operation, { error, thrown }), ending)
  } catch (unrecorded) {
    // The change may be stored, and the error of its event would say that it is not.
    return isVaultError(thrown, 'outcome_unknown') ? thrown : unrecorded
  }
  logFailure(thrown, ending)
  return thrown
}

/** Maximum number of attempts of an operation, if other processes keep changing the catalog. */
const MAX_ATTEMPTS = 10

/** Retries work that met a catalog or a key of which this process does not know yet. */
const RELOADING: RetryPolicy = {
  maxAttempts: MAX_ATTEMPTS,
  shouldRetry: isOutdated,
  exhausted: () => fault('aborted')`Other processes kept changing the schema or the keys of the vault. Retry.`,
}

function isOutdated(error: unknown): boolean {
  return error === CATALOG_MOVED || error === UNKNOWN_KEY
}

/**
 * Runs work, and runs it again after the catalog was read again if another process changed it: nothing was stored then. A key that is
 * unknown after that, too, is not the catalog's: its bodies fail authentication.
 */
async function executeUpToDate<T>(context: OperationContext, work: (context: OperationContext) => Promise<T>): Promise<T> {
  let current = context
  let failure: unknown
  try {
    return await work(context)
  } catch (error) {
    if (!isOutdated(error)) throw error
    failure = error
  }
  return retry(RELOADING, async () => {
    await context.catalog.reload(context.unit.storage)
    if (failure === UNKNOWN_KEY) {
      const { entropy, vault, ring, reportMismatch } = context.barrier
      current = { ...context, barrier: { entropy, vault, ring, reportMismatch } }
    }
    try {
      return await work(current)
    } catch (error) {
      failure = error
      throw error
    }
  })
}

/** The dependencies of the end of an operation. */
interface Ending {
  readonly session: SessionContext
  readonly operation: AnyOperation
  requestContext(): EventContext
}

/** Returns the input as its event records it; empty text if a getter of the input throws. */
function recordedInput({ layout }: Pick<SessionContext, 'layout'>, { recorded }: AnyOperation, given: object): string {
  try {
    const { options, ...members }: { readonly options?: unknown } = given
    const input = typeof options === 'object' && options !== null ? { ...members, ...options, ...members } : members
    return recordShape(input, recorded, (text) => layout.names.has(text))
  } catch {
    return ''
  }
}

/** Maximum number of columns that an event lists. Of the others, only the count is recorded. */
const MAX_NAMES = 100

/** Returns the recorded input with the names that a query reads. */
function withNames(content: string, names: NamesRead | undefined): string {
  if (names === undefined) return content
  const { tables, columns, filters } = names
  const input: object = content === '' ? {} : JSON.parse(content)
  return JSON.stringify({ ...input, tables, columns: atMost(columns), filters: atMost(filters) })
}

function atMost(names: readonly string[]): readonly unknown[] {
  return names.length <= MAX_NAMES ? names : [...names.slice(0, MAX_NAMES), { more: names.length - MAX_NAMES }]
}

/** Returns the outcome of a failure for its event, with names masked that the schema does not have. `thrown` is the error as the caller gets it. */
function recordedOutcome(
  { layout }: Pick<SessionContext, 'layout'>,
  operation: AnyOperation,
  { error, thrown }: { readonly error: unknown; readonly thrown: VaultError },
): Outcome {
  const { code, message } = outcomeOf(thrown)
  if (!Fault.isFault(error)) return { code, message }
  return {
    code,
    message: prefixed(
      operation.verb,
      error.recordedText((text) => layout.names.has(text)),
    ),
  }
}

/** Returns a fault with the verb before its message and the HTTP status of its operation; any other error as it may leave the vault. */
function withVerbOf({ verb, notFoundStatus }: Pick<AnyOperation, 'verb' | 'notFoundStatus'>, error: unknown): VaultError {
  if (!Fault.isFault(error)) return toVaultError(error, `${verb} failed.`)
  const httpStatus = error.code === 'not_found' ? notFoundStatus : undefined
  return new VaultError(error.code, prefixed(verb, error.message), error.details, { httpStatus })
}

function prefixed(verb: string, message: string): string {
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

/** Stores the event of an operation that stored none with a change. */
async function record(unit: RecordedUnit, outcome: Outcome, { session, operation, requestContext }: Ending): Promise<void> {
  try {
    await unit.record(outcome)
  } catch (error) {
    const fields = { operation: operation.action, requestID: requestContext().requestID, code: outcomeOf(error).failure }
    session.log?.error(fields, 'audit event not stored')
    const cause = VaultError.isGenuine(error) ? toVaultError(error, '') : undefined
    const sentence = 'The audit event could not be stored, so no result is returned. Check the storage, then retry.'
    const code = isVaultError(error, 'storage_full') ? 'storage_full' : 'unavailable'
    throw new VaultError(code, `${prefixed(operation.verb, sentence)} ${cause?.message ?? ''}`.trim(), {}, { cause })
  }
}

/**
 * Logs each column with digests that do not agree with their values, and records an event of its own for it. The operation has its result
 * whether or not that event can be stored: the record was not returned for a value it does not have. Source: docs/decisions/0022.
 */
async function recordMismatches({ mismatches }: EventBuilder, { session, operation, requestContext }: Ending): Promise<void> {
  for (const { table, column, rows } of mismatches) {
    const context = requestContext()
    const { requestID, traceID } = context
    const fields = { operation: operation.action, requestID, traceID, code: 'data_loss', table: table.name, column: column.name }
    session.log?.error({ ...fields, records: rows.size }, 'a stored digest does not agree with its value')
    const finding = mismatched(table, column)
    const event: EventDraft = {
      context,
      action: operation.action,
      resourceType: 'RECORD',
      table: table.name,
      rows: [{ table: table.name, runs: toRuns([...rows]) }],
      code: finding.httpStatus,
      message: finding.message,
    }
    try {
      await session.units.begin(() => () => event).record(SUCCESS)
    } catch (error) {
      session.log?.error({ ...fields, code: outcomeOf(error).failure }, 'audit event not stored')
    }
  }
}

function mismatched(table: Table, column: Column): Fault {
  return fault(
    'data_loss',
  )`Integrity check failed. The digest of column ${column.name} of table ${table.name} does not agree with its value. Run vault.verifyRecords().`
}

/** Maximum length of an email address in an event, in UTF-16 units. No address is longer. */
const MAX_EMAIL_LENGTH = 320

/** Returns the caller and request of an event. Generates required ids that the caller did not give. */
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
    traceID: traceID ?? traceIdOf(traceparent) ?? traceIdOfSpan(span) ?? toHex(barrier.entropy.bytes(16)),
    ...(typeof email === 'string' && email.length <= MAX_EMAIL_LENGTH ? { userEmail: email } : {}),
  }
}

/** Returns the trace id of a span; undefined for text of another form, or if the span throws. */
function traceIdOfSpan(span: Span | undefined): string | undefined {
  try {
    const traceId: unknown = span?.traceId
    return typeof traceId === 'string' && TRACE_ID.test(traceId) ? traceId : undefined
  } catch {
    return undefined
  }
}

const TRACE_ID = /^[0-9a-f]{32}$/

/** Ends a span. Ignores its errors, because the operation has ended. */
function endQuietly(span: Span, failure: string | undefined): void {
  try {
    span.end({}, failure)
  } catch {
    // The result of the operation matters more than its span.
  }
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
