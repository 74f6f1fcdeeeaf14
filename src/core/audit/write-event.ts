/** Writes the canonical text of an event as UTF-8, without a text or an object in between. Source: RFC 8785, JSON Canonicalization Scheme. */
import { type ByteWriter, toUtf8 } from '../util/bytes.ts'
import type { EventDraft, EventPlace, EventPosition, EventRows, NestedOutcome } from './event.ts'
import { KeptOutset, type Outset } from './kept-outset.ts'

/** The position of an event. The digest of the previous event is text, or its bytes. */
export type WrittenPosition = Omit<EventPosition, 'previous'> & { readonly previous: string | Uint8Array }

/** What an event has besides its draft. */
export interface WrittenPlace extends Omit<EventPlace, 'position'> {
  readonly position: WrittenPosition
}

/** The text in front of each member, as bytes. */
export const BEFORE = {
  accountID: toUtf8('{"accountID":'),
  action: toUtf8(',"action":'),
  changeID: toUtf8(',"changeID":'),
  code: toUtf8(',"code":'),
  content: toUtf8(',"content":'),
  accessType: toUtf8(',"context":{"accessType":'),
  actor: toUtf8(',"actor":'),
  actorType: toUtf8(',"actorType":'),
  authMode: toUtf8(',"authMode":'),
  bearerTokenContextID: toUtf8(',"bearerTokenContextID":'),
  clientTraceID: toUtf8(',"clientTraceID":'),
  ipAddress: toUtf8(',"ipAddress":'),
  jwtID: toUtf8(',"jwtID":'),
  keyID: toUtf8(',"keyID":'),
  origin: toUtf8(',"origin":'),
  requestID: toUtf8(',"requestID":'),
  sessionID: toUtf8(',"sessionID":'),
  subject: toUtf8(',"subject":'),
  traceID: toUtf8(',"traceID":'),
  userEmail: toUtf8(',"userEmail":'),
  credential: toUtf8(',"credential":'),
  message: toUtf8(',"message":'),
  nested: toUtf8(',"nested":'),
  chain: toUtf8(',"position":{"chain":'),
  previous: toUtf8(',"previous":"'),
  sequence: toUtf8('","sequence":'),
  resourceType: toUtf8('},"resourceType":'),
  rows: toUtf8(',"rows":['),
  runs: toUtf8('{"runs":['),
  tableOfRows: toUtf8('],"table":'),
  table: toUtf8(',"table":'),
  tables: toUtf8(',"tables":'),
  timestamp: toUtf8(',"timestamp":'),
  v: toUtf8(',"v":1,"vaultID":'),
} as const
/** Characters between members and items, as bytes. */
export const [COMMA, OPEN_LIST, CLOSE_LIST, CLOSE_OBJECT] = [0x2c, 0x5b, 0x5d, 0x7d] as const

/** Most events follow another one of the same caller and kind. */
const kept = new KeptOutset()

/** Writes an event. The members come in canonical order; those that are undefined are not written. */
export function writeEvent(out: ByteWriter, event: EventDraft, place: WrittenPlace): void {
  const { context, resourceType, rows, table, tables } = event
  const { position, timestamp, vaultID } = place
  out.raw(BEFORE.accountID)
  out.json(place.accountID)
  writeText(out, BEFORE.action, event.action)
  writeText(out, BEFORE.changeID, place.changeID)
  writeOutset(out, event)
  writeText(out, BEFORE.requestID, context.requestID)
  writeText(out, BEFORE.sessionID, context.sessionID)
  writeText(out, BEFORE.subject, context.subject)
  writeText(out, BEFORE.traceID, context.traceID)
  writeText(out, BEFORE.userEmail, context.userEmail)
  out.u8(CLOSE_OBJECT)
  writeText(out, BEFORE.credential, event.credential)
  writeText(out, BEFORE.message, event.message)
  if (event.nested !== undefined) writeJson(out, BEFORE.nested, event.nested.map(nestedInOrder))
  writePosition(out, position)
  writeText(out, BEFORE.resourceType, resourceType)
  if (rows !== undefined) writeRows(out, rows)
  writeText(out, BEFORE.table, table)
  if (tables !== undefined) writeJson(out, BEFORE.tables, tables)
  writeText(out, BEFORE.timestamp, timestamp)
  writeText(out, BEFORE.v, vaultID)
  out.u8(CLOSE_OBJECT)
}

/** Writes the members from `code` to the one before `requestID`. */
export function writeOutset(out: ByteWriter, outset: Outset): void {
  const known = kept.bytesOf(outset)
  if (known !== undefined) {
    out.raw(known)
    return
  }
  const { code, content, context } = outset
  const start = out.length
  out.raw(BEFORE.code)
  out.decimal(code)
  writeText(out, BEFORE.content, content)
  writeText(out, BEFORE.accessType, context.accessType)
  writeText(out, BEFORE.actor, context.actor)
  writeText(out, BEFORE.actorType, context.actorType)
  writeText(out, BEFORE.authMode, context.authMode)
  writeText(out, BEFORE.bearerTokenContextID, context.bearerTokenContextID)
  writeText(out, BEFORE.clientTraceID, context.clientTraceID)
  writeText(out, BEFORE.ipAddress, context.ipAddress)
  writeText(out, BEFORE.jwtID, context.jwtID)
  writeText(out, BEFORE.keyID, context.keyID)
  writeText(out, BEFORE.origin, context.origin)
  kept.keep(outset, out.bytes, start, out.length)
}

/** Writes a member with text; nothing if it is undefined. */
function writeText(out: ByteWriter, before: Uint8Array, text: string | undefined): void {
  if (text === undefined) return
  out.raw(before)
  out.json(text)
}

/** Writes a member that few events have. */
export function writeJson(out: ByteWriter, before: Uint8Array, value: object): void {
  out.raw(before)
  out.utf8(JSON.stringify(value))
}

/** Writes the position of an event, up to its brace, which the next member begins with. */
export function writePosition(out: ByteWriter, { chain, previous, sequence }: WrittenPosition): void {
  out.raw(BEFORE.chain)
  out.decimal(chain)
  out.raw(BEFORE.previous)
  if (typeof previous === 'string') out.utf8(previous)
  else out.hex(previous)
  out.raw(BEFORE.sequence)
  out.decimal(sequence)
}

function writeRows(out: ByteWriter, rows: readonly EventRows[]): void {
  out.raw(BEFORE.rows)
  let isFirst = true
  for (const { runs, table } of rows) {
    if (!isFirst) out.u8(COMMA)
    isFirst = false
    out.raw(BEFORE.runs)
    writeRuns(out, runs)
    out.raw(BEFORE.tableOfRows)
    out.json(table)
    out.u8(CLOSE_OBJECT)
  }
  out.u8(CLOSE_LIST)
}

function writeRuns(out: ByteWriter, runs: EventRows['runs']): void {
  let isFirst = true
  for (const [first, count] of runs) {
    if (!isFirst) out.u8(COMMA)
    isFirst = false
    out.u8(OPEN_LIST)
    out.decimal(first)
    out.u8(COMMA)
    out.decimal(count)
    out.u8(CLOSE_LIST)
  }
}

function nestedInOrder({ code, content, contentOf, items, message, resourceType, rows }: NestedOutcome): object {
  return { code, content, contentOf, items, message, resourceType, rows: rows && { runs: rows.runs, table: rows.table } }
}
