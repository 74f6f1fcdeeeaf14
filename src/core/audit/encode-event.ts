/** Encodes and decodes events: one canonical text is digested, sealed and exported. Source: RFC 8785, JSON Canonicalization Scheme. */
import { fault } from '../errors.ts'
import { isAscii } from '../util/byte-text.ts'
import { ByteWriter, readUtf8, sameBytes, toUtf8 } from '../util/bytes.ts'
import { toTimestamp } from '../util/timestamp.ts'
import type { JsonValue } from '../values/column-type.ts'
import type { ChainedEvent, EventContext, EventDraft, EventPlace, EventRows, NestedOutcome } from './event.ts'
import { type EventLinks, matchEvent } from './event-pattern.ts'
import { eventShape } from './event-shape.ts'

/** Returns the canonical text of an event as UTF-8. */
export function encodeEvent(event: ChainedEvent): Uint8Array {
  const text = eventText(event, event)
  const out = new ByteWriter(text.length * 3)
  out.utf8(text)
  return out.written()
}

/** Returns the event of these bytes. Throws `data_loss` if they are not an event in a known format. */
export function decodeEvent(bytes: Uint8Array): ChainedEvent {
  const text = readUtf8(bytes, 0, bytes.length)
  // What the pattern accepts has the shape of an event.
  const event = matchEvent(text) === undefined ? parseEventText(text) : (JSON.parse(text) as ChainedEvent)
  if (event === undefined) throw fault('data_loss')`An audit event has an unknown format. Run vault.verifyAudit().`
  return event
}

/** Returns the links of the event of these bytes; undefined if they are not the canonical text of an event. */
export function readCanonical(bytes: Uint8Array): EventLinks | undefined {
  const text = readUtf8(bytes, 0, bytes.length)
  // Reading UTF-8 accepts what writing it never makes, so other text is compared by its bytes.
  const links = isAscii(bytes) ? matchEvent(text) : undefined
  if (links !== undefined) return links
  const event = parseEventText(text)
  return event !== undefined && sameBytes(toUtf8(eventText(event, event)), bytes) ? event : undefined
}

/** Returns the event of JSON text; undefined if it is not one. */
export function parseEventText(text: string): ChainedEvent | undefined {
  return parseEvent(parsedText(text))
}

/** True if `at`, in nanoseconds since 1970, is the time of an event. Storage has it next to the sealed event. */
export function hasTimestamp({ timestamp }: Pick<ChainedEvent, 'timestamp'>, at: bigint): boolean {
  return toTimestamp(at) === timestamp
}

/** Returns JSON data as an event; undefined if it is not one. */
export function parseEvent(json: unknown): ChainedEvent | undefined {
  return eventShape(json)
}

/**
 * Returns the canonical text. The members are listed here in canonical order, so that `JSON.stringify` writes them: several times as
 * fast as sorting them for every event. Absent members are undefined and not written.
 */
export function eventText(event: EventDraft, { position, changeID, timestamp, v, vaultID, accountID }: EventPlace): string {
  return JSON.stringify({
    accountID,
    action: event.action,
    changeID,
    code: event.code,
    content: event.content,
    context: inOrder(event.context),
    credential: event.credential,
    message: event.message,
    nested: event.nested?.map(nestedInOrder),
    position: { chain: position.chain, previous: position.previous, sequence: position.sequence },
    resourceType: event.resourceType,
    rows: event.rows?.map(rowsInOrder),
    table: event.table,
    tables: event.tables,
    timestamp,
    v,
    vaultID,
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

function nestedInOrder({ code, content, contentOf, items, message, resourceType, rows }: NestedOutcome): object {
  return { code, content, contentOf, items, message, resourceType, rows: rows === undefined ? undefined : rowsInOrder(rows) }
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
