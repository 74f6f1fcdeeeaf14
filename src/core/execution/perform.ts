/** Runs one operation: its span, its unit of work, its one event however it ends, and the log's line where it failed. */
import { v4 as uuid } from 'uuid'
import type { EventContext } from '../audit/event.ts'
import { foldShape } from '../audit/record-shape.ts'
import { type Outcome, outcomeOf, SUCCESS, UNCERTAIN, UNDONE, withoutStrangers } from '../audit/outcome.ts'
import { traceIdOf } from '../audit/trace-parent.ts'
import { Fault, isVaultError, print, VaultError } from '../errors.ts'
import type { Span } from '../ports/tracing.ts'
import { toHex } from '../util/bytes.ts'
import type { SessionContext } from './context.ts'
import type { Operation } from './operation.ts'
import { Story } from './event-builder.ts'

/** The answer to an operation. What cannot be recorded is not answered. */
export function perform<Given extends object, Request, Answer>(
  session: SessionContext,
  operation: Operation<Given, Request, Answer>,
  given: Given,
): Promise<Answer> {
  if (session.tracing === undefined) return run(session, operation, given, undefined)
  return session.tracing.within(`strongroom.${operation.action.toLowerCase()}`, {}, async (span) => {
    let failure: string | undefined
    try {
      return await run(session, operation, given, span)
    } catch (error) {
      failure = outcomeOf(error).failure
      throw error
    } finally {
      quietly(() => span.end({}, failure))
    }
  })
}

async function run<Given extends object, Request, Answer>(
  session: SessionContext,
  operation: Operation<Given, Request, Answer>,
  given: Given,
  span: Span | undefined,
): Promise<Answer> {
  const { action, resourceType } = operation
  const story = new Story()
  let made: EventContext | undefined
  const asked = (): EventContext => {
    made ??= eventContext(session, span)
    return made
  }
  const unit = session.ground.begin(() => {
    const context = asked()
    const content = contentOf(session, operation, given)
    return (outcome, ending) => ({ context, action, resourceType, content, ...story.told(outcome, ending) })
  })
  let answer: Answer
  try {
    const context = { ...session, unit, story }
    answer = await operation.execute(context, operation.parse(given, context))
  } catch (error) {
    const outcome = tellableOutcome(session, operation, error)
    const ending = isVaultError(error, 'unavailable') ? UNCERTAIN : UNDONE
    await note(session, operation, asked, () => unit.note(outcome, ending))
    logFailure(session, operation, asked, error)
    throw failureOf(operation, error)
  }
  if (!unit.isTold) await note(session, operation, asked, () => unit.note(SUCCESS))
  return answer
}

/** The input as the event tells it; of one that cannot even be looked at, nothing. */
export function contentOf(
  { layout }: Pick<SessionContext, 'layout'>,
  { told }: Pick<Operation<never, never, never>, 'told'>,
  given: object,
): string {
  try {
    const { options, ...members }: { readonly options?: unknown } = given
    const body = typeof options === 'object' && options !== null ? { ...members, ...options } : members
    return foldShape(body, told, (text) => layout.names.has(text))
  } catch {
    return ''
  }
}

/** How a failure is told in events: no name that the schema does not have. */
export function tellableOutcome({ layout }: Pick<SessionContext, 'layout'>, { verb }: Named, error: unknown): Outcome {
  const isName = (word: string) => layout.names.has(word)
  const { code, message } = outcomeOf(error)
  if (error instanceof Fault) return { code, message: `${verb} failed. ${print(error.sentence, isName)}` }
  return { code, message: withoutStrangers(message, isName) }
}

/** A failure as its caller is told it. */
export function failureOf({ verb }: Pick<Named, 'verb'>, error: unknown): unknown {
  return error instanceof Fault ? new VaultError(error.code, `${verb} failed. ${error.message}`, error.details) : error
}

/** Runs what is no operation, and puts the same in front of its failures. */
export function naming<T>(verb: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw failureOf({ verb }, error)
  }
}

type Named = Pick<Operation<never, never, never>, 'action' | 'verb'>

/** Stores an event by itself. */
async function note(
  { log }: SessionContext,
  { verb, action }: Named,
  asked: () => EventContext,
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work()
  } catch (error) {
    const facts = { operation: action, requestID: asked().requestID, code: outcomeOf(error).failure }
    log?.error(facts, 'audit event not stored')
    const why = isVaultError(error) ? error : undefined
    throw new VaultError(
      'unavailable',
      `${verb} failed. Its audit event could not be stored, so nothing is answered. Try again, or look at the storage. ${why?.message ?? ''}`.trim(),
      {},
      { cause: why },
    )
  }
}

/** Characters of an email address that an event repeats; a longer text is none. */
const LONGEST_EMAIL = 320

/** Who asks and in which request. Ids that must be there and were not given are made up. */
function eventContext({ caller, barrier }: SessionContext, span: Span | undefined): EventContext {
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
    ...(typeof email === 'string' && email.length <= LONGEST_EMAIL ? { userEmail: email } : {}),
  }
}

/** A span that fails takes nothing with it: what was done was done. */
function quietly(tell: () => void): void {
  try {
    tell()
  } catch {
    // There is nobody left to tell.
  }
}

/** One line for what the host must look into, and one for what was refused. */
function logFailure({ log }: SessionContext, { action }: Named, asked: () => EventContext, error: unknown): void {
  if (log === undefined) return
  const { requestID, traceID } = asked()
  const { failure } = outcomeOf(error)
  const facts = { operation: action, requestID, traceID, code: failure }
  if (failure === 'internal' || failure === 'unavailable') log.error(facts, 'operation failed')
  else if (failure === 'forbidden') log.warn(facts, 'operation refused')
}
