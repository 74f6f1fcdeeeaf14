/** Writes the canonical text of an event as UTF-8, without a text or an object in between. Source: RFC 8785, JSON Canonicalization Scheme. */
import { type ByteWriter, toUtf8 } from '../util/bytes.ts'
import type { EventContext, EventDraft, EventPlace, EventRows, NestedOutcome } from './event.ts'

/** What an event has besides its draft. The digest of the previous event is text, or its bytes. */
export interface WrittenPlace extends Omit<EventPlace, 'position'> {
  readonly position: Omit<EventPlace['position'], 'previous'> & { readonly previous: string | Uint8Array }
}

/** The text in front of each member, as bytes. */
const BEFORE = {
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
const [COMMA, OPEN_LIST, CLOSE_LIST, CLOSE_OBJECT] = [0x2c, 0x5b, 0x5d, 0x7d]

/** The members of the last event from `code` to `jwtID`, and their text: most events follow another one of the same caller and kind. */
let last: { readonly draft: Outset; readonly text: Uint8Array } | undefined
/** Length of a text that is kept. Longer ones would cost as much memory as they save time. */
const MAX_KEPT_BYTES = 1024

/** The members of a draft that `last` is compared by. */
type Outset = Pick<EventDraft, 'code' | 'content' | 'context'>

/** Writes an event. The members come in canonical order; those that are undefined are not written. */
export function writeEvent(out: ByteWriter, event: EventDraft, place: WrittenPlace): void {
  const { context, message, credential, nested, rows, table, tables } = event
  const { position } = place
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
  writeText(out, BEFORE.credential, credential)
  writeText(out, BEFORE.message, message)
  if (nested !== undefined) writeJson(out, BEFORE.nested, nested.map(nestedInOrder))
  out.raw(BEFORE.chain)
  out.decimal(position.chain)
  out.raw(BEFORE.previous)
  if (typeof position.previous === 'string') out.utf8(position.previous)
  else out.hex(position.previous)
  out.raw(BEFORE.sequence)
  out.decimal(position.sequence)
  writeText(out, BEFORE.resourceType, event.resourceType)
  if (rows !== undefined) writeRows(out, rows)
  writeText(out, BEFORE.table, table)
  if (tables !== undefined) writeJson(out, BEFORE.tables, tables)
  writeText(out, BEFORE.timestamp, place.timestamp)
  writeText(out, BEFORE.v, place.vaultID)
  out.u8(CLOSE_OBJECT)
}

/** Writes the members from `code` to the one before `requestID`. */
function writeOutset(out: ByteWriter, draft: Outset): void {
  if (last !== undefined && isSameOutset(last.draft, draft)) {
    out.raw(last.text)
    return
  }
  const { code, content, context } = draft
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
  if (out.length - start <= MAX_KEPT_BYTES) last = { draft: { code, content, context }, text: out.bytes.slice(start, out.length) }
}

function isSameOutset(left: Outset, right: Outset): boolean {
  return left.code === right.code && left.content === right.content && isSameCaller(left.context, right.context)
}

/** True if both have the same members before `requestID`. */
function isSameCaller(left: EventContext, right: EventContext): boolean {
  return (
    left.accessType === right.accessType &&
    left.actor === right.actor &&
    left.actorType === right.actorType &&
    left.authMode === right.authMode &&
    left.bearerTokenContextID === right.bearerTokenContextID &&
    left.clientTraceID === right.clientTraceID &&
    left.ipAddress === right.ipAddress &&
    left.jwtID === right.jwtID &&
    left.keyID === right.keyID &&
    left.origin === right.origin
  )
}

/** Writes a member with text; nothing if it is undefined. */
function writeText(out: ByteWriter, before: Uint8Array, text: string | undefined): void {
  if (text === undefined) return
  out.raw(before)
  out.json(text)
}

/** Writes a member that few events have. */
function writeJson(out: ByteWriter, before: Uint8Array, value: object): void {
  out.raw(before)
  out.utf8(JSON.stringify(value))
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
