/** An event as bytes and back: the one text that is digested, sealed and exported. Source: RFC 8785, JSON Canonicalization Scheme. */
import { VaultError } from '../errors.ts'
import { ByteWriter, readUtf8 } from '../util/bytes.ts'
import { toTimestamp } from '../util/timestamp.ts'
import type { JsonValue } from '../values/column-type.ts'
import type { ChainedEvent, EventContext, EventRows, NestedOutcome } from './event.ts'
import { eventShape } from './event-shape.ts'

/** UTF-8 of the canonical text. */
export function encodeEvent(event: ChainedEvent): Uint8Array {
  const text = eventText(event)
  const out = new ByteWriter(text.length * 3)
  out.utf8(text)
  return out.written()
}

/** The event of these bytes. Throws `internal` when they are none. */
export function decodeEvent(bytes: Uint8Array): ChainedEvent {
  const event = parseEvent(parsedText(readUtf8(bytes, 0, bytes.length)))
  if (event === undefined) throw new VaultError('internal', 'An audit event cannot be read: it is not in a known format.')
  return event
}

/** True when this is the time an event tells of itself, in nanoseconds since 1970: storage keeps it beside the sealed event, for looking up alone. */
export function isTimeOf({ timestamp }: ChainedEvent, at: bigint): boolean {
  return toTimestamp(at) === timestamp
}

/** JSON data as an event, or undefined where it is none. */
export function parseEvent(json: unknown): ChainedEvent | undefined {
  const parsed = eventShape.safeParse(json)
  return parsed.success ? parsed.data : undefined
}

/**
 * The canonical text. Members are named here in their order, which lets the engine's own writer do the work: several times
 * as fast as sorting them for every event. Absent members are undefined, and so not written.
 */
export function eventText(event: ChainedEvent): string {
  return JSON.stringify({
    accountID: event.accountID,
    action: event.action,
    changeID: event.changeID,
    code: event.code,
    content: event.content,
    context: inOrder(event.context),
    message: event.message,
    nested: event.nested?.map(nestedInOrder),
    place: { lane: event.place.lane, previous: event.place.previous, sequence: event.place.sequence },
    resourceType: event.resourceType,
    rows: event.rows?.map(rowsInOrder),
    table: event.table,
    timestamp: event.timestamp,
    v: event.v,
    vaultID: event.vaultID,
  })
}

function inOrder(context: EventContext): Partial<Record<keyof EventContext, string | undefined>> {
  return {
    accessType: context.accessType,
    actor: context.actor,
    actorType: context.actorType,
    authMode: context.authMode,
    bearerTokenContextID: context.bearerTokenContextID,
    clientTraceID: context.clientTraceID,
    ipAddress: context.ipAddress,
    jwtID: context.jwtID,
    keyID: context.keyID,
    origin: context.origin,
    requestID: context.requestID,
    sessionID: context.sessionID,
    subject: context.subject,
    traceID: context.traceID,
    userEmail: context.userEmail,
  }
}

function nestedInOrder({ code, content, message, resourceType, rows }: NestedOutcome): object {
  return { code, content, message, resourceType, rows: rows === undefined ? undefined : rowsInOrder(rows) }
}

function rowsInOrder({ runs, table }: EventRows): EventRows {
  return { runs, table }
}

function parsedText(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
