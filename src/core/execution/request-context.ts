/** The caller and the request, as events record them. */
import { v4 as uuid } from 'uuid'
import type { EventContext } from '../audit/event.ts'
import type { RequestContext } from '../policy/caller.ts'
import type { Span } from '../ports/observability.ts'
import { toHex, type Writable } from '../util/bytes.ts'
import type { SessionContext } from './context.ts'

/** Maximum length of an email address in an event, in UTF-16 units. No address is longer. */
const MAX_EMAIL_LENGTH = 320

/** Returns the caller and request of an event. Generates required ids that the caller did not give. */
export function requestContextOf(
  { caller, barrier }: Pick<SessionContext, 'caller' | 'barrier'>,
  span: Span | undefined,
): EventContext {
  const { request = NO_REQUEST } = caller
  const context: Writable<EventContext> = {
    requestID: request.requestID ?? uuid({ random: barrier.entropy.bytes(16) }),
    traceID: request.traceID ?? traceIdOf(request.traceparent) ?? traceIdOfSpan(span) ?? toHex(barrier.entropy.bytes(16)),
    actor: caller.actor,
    actorType: caller.actorType,
    accessType: request.accessType ?? 'API',
    ipAddress: request.ipAddress ?? '',
    authMode: request.authMode ?? 'STS',
    jwtID: request.jwtID ?? '',
  }
  for (const member of OPTIONAL) {
    const given = request[member]
    if (given !== undefined) context[member] = given
  }
  const email = caller.context?.email
  if (typeof email === 'string' && email.length <= MAX_EMAIL_LENGTH) context.userEmail = email
  return context
}

const NO_REQUEST: RequestContext = {}

/** The members of a request that are recorded as they were given, or not at all. */
const OPTIONAL = ['sessionID', 'origin', 'bearerTokenContextID', 'keyID', 'subject', 'clientTraceID'] as const

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

/** Hex digits: version 2 | trace id 32 | parent id 16 | flags 2. No id is all zeros. Later versions can have more after a dash. Version ff is invalid. */
const TRACE_PARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/

/** Returns the trace id of a header; undefined if it is absent or malformed. A malformed header never fails a request. */
export function traceIdOf(header: string | undefined): string | undefined {
  const found = header === undefined ? null : TRACE_PARENT.exec(header)
  if (found === null || (found[1] === '00' && found[3] !== undefined)) return undefined
  return found[2]
}
