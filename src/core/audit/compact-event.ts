/** Writes the compact form of an event, in which it is sealed: a third of its canonical text, which is digested and exported. */

import type { ByteWriter } from '../util/bytes.ts'
import { fromHex } from '../util/text.ts'
import { COMPACT, FLAGS, NESTED_FLAGS, OUTSET_FLAGS } from './compact-layout.ts'
import { writeNumber, writeText, writeU16 } from './compact-text.ts'
import type { EventDraft, EventRows, NestedOutcome } from './event.ts'
import { ACCESS_TYPES, ACTION_TYPES, ACTOR_TYPES, AUTH_MODES, RESOURCE_TYPES } from './event-shape.ts'
import { KeptOutset, type Outset } from './kept-outset.ts'
import type { WrittenPlace } from './write-event.ts'

/** What an event has besides its draft. `at` is its time in nanoseconds since 1970. */
export interface CompactPlace extends Omit<WrittenPlace, 'v' | 'timestamp'> {
  readonly at: bigint
}

/** Most events follow another one of the same caller and kind. */
const kept = new KeptOutset()

/** Writes an event. */
export function writeCompactEvent(out: ByteWriter, event: EventDraft, place: CompactPlace): void {
  const { context } = event
  const { chain, sequence, previous } = place.position
  out.u8(COMPACT)
  writeU16(out, flagsOf(event, place))
  writeText(out, place.accountID)
  out.u8(ACTION_TYPES.indexOf(event.action))
  writeText(out, place.changeID)
  writeOutset(out, event)
  writeText(out, context.requestID)
  writeOptional(out, context.sessionID)
  writeOptional(out, context.subject)
  writeText(out, context.traceID)
  writeOptional(out, context.userEmail)
  writeOptional(out, event.credential)
  writeText(out, event.message)
  if (event.nested !== undefined) writeList(out, event.nested, writeNested)
  writeNumber(out, chain)
  if (previous !== '') out.raw(typeof previous === 'string' ? fromHex(previous) : previous)
  writeNumber(out, sequence)
  out.u8(RESOURCE_TYPES.indexOf(event.resourceType))
  if (event.rows !== undefined) writeList(out, event.rows, writeRows)
  writeOptional(out, event.table)
  if (event.tables !== undefined) writeList(out, event.tables, writeText)
  out.i64(place.at)
  if (place.vaultID !== place.accountID) writeText(out, place.vaultID)
}

function flagsOf({ context, credential, nested, rows, table, tables }: EventDraft, place: CompactPlace): number {
  const { sessionID, subject, userEmail } = context
  return (
    (sessionID === undefined ? 0 : FLAGS.sessionID) |
    (subject === undefined ? 0 : FLAGS.subject) |
    (userEmail === undefined ? 0 : FLAGS.userEmail) |
    (credential === undefined ? 0 : FLAGS.credential) |
    (nested === undefined ? 0 : FLAGS.nested) |
    (place.position.previous === '' ? 0 : FLAGS.previous) |
    (rows === undefined ? 0 : FLAGS.rows) |
    (table === undefined ? 0 : FLAGS.table) |
    (tables === undefined ? 0 : FLAGS.tables) |
    (place.vaultID === place.accountID ? 0 : FLAGS.vaultID)
  )
}

function writeOutset(out: ByteWriter, outset: Outset): void {
  const known = kept.bytesOf(outset)
  if (known !== undefined) {
    out.raw(known)
    return
  }
  const { code, content, context } = outset
  const { bearerTokenContextID, clientTraceID, keyID, origin } = context
  const start = out.length
  out.u8(
    (content === undefined ? 0 : OUTSET_FLAGS.content) |
      (bearerTokenContextID === undefined ? 0 : OUTSET_FLAGS.bearerTokenContextID) |
      (clientTraceID === undefined ? 0 : OUTSET_FLAGS.clientTraceID) |
      (keyID === undefined ? 0 : OUTSET_FLAGS.keyID) |
      (origin === undefined ? 0 : OUTSET_FLAGS.origin),
  )
  writeU16(out, code)
  writeOptional(out, content)
  out.u8(ACCESS_TYPES.indexOf(context.accessType))
  writeText(out, context.actor)
  out.u8(ACTOR_TYPES.indexOf(context.actorType))
  out.u8(AUTH_MODES.indexOf(context.authMode))
  writeOptional(out, bearerTokenContextID)
  writeOptional(out, clientTraceID)
  writeText(out, context.ipAddress)
  writeText(out, context.jwtID)
  writeOptional(out, keyID)
  writeOptional(out, origin)
  kept.keep(outset, out.bytes, start, out.length)
}

/** Writes a text whose flag says that it exists. */
function writeOptional(out: ByteWriter, text: string | undefined): void {
  if (text !== undefined) writeText(out, text)
}

function writeList<T>(out: ByteWriter, items: readonly T[], write: (out: ByteWriter, item: T) => void): void {
  out.varint(items.length)
  for (const item of items) write(out, item)
}

function writeRows(out: ByteWriter, { table, runs }: EventRows): void {
  writeText(out, table)
  writeList(out, runs, writeRun)
}

function writeRun(out: ByteWriter, [first, count]: EventRows['runs'][number]): void {
  writeNumber(out, first)
  writeNumber(out, count)
}

function writeNested(out: ByteWriter, { code, content, contentOf, items, message, resourceType, rows }: NestedOutcome): void {
  out.u8(
    (content === undefined ? 0 : NESTED_FLAGS.content) |
      (contentOf === undefined ? 0 : NESTED_FLAGS.contentOf) |
      (items === undefined ? 0 : NESTED_FLAGS.items) |
      (rows === undefined ? 0 : NESTED_FLAGS.rows),
  )
  writeU16(out, code)
  writeOptional(out, content)
  if (contentOf !== undefined) writeNumber(out, contentOf)
  if (items !== undefined) writeNumber(out, items)
  writeText(out, message)
  out.u8(RESOURCE_TYPES.indexOf(resourceType))
  if (rows !== undefined) writeRows(out, rows)
}
