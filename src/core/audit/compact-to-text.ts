/** Writes the canonical text of an event from its compact form, without an object in between: a verification hashes the text of every event. */
import { HASH_BYTES } from '../ports/crypto.ts'
import { type ByteWriter, toUtf8 } from '../util/bytes.ts'
import { ALL_NESTED_FLAGS, FLAGS, NESTED_FLAGS } from './compact-layout.ts'
import type { CompactReader } from './compact-text.ts'
import { ACTION_TYPES, RESOURCE_TYPES } from './event-shape.ts'
import {
  MIN_BYTES,
  readChain,
  readCode,
  readCompact,
  readContentOf,
  readItems,
  readOther,
  readOutset,
  readRowNumber,
  readSequence,
  readTables,
  readTime,
} from './read-compact-event.ts'
import {
  BEFORE,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COMMA,
  OPEN_LIST,
  type WrittenPlace,
  type WrittenPosition,
  writeJson,
  writeOutset,
  writePosition,
} from './write-event.ts'

/** What a verification compares of an event. */
export type ChainLinks = Pick<WrittenPlace, 'position' | 'timestamp' | 'vaultID'>

/** Writes the text of the event of these bytes, and returns its links; undefined if they are not the compact form of an event. */
export function writeTextOfCompact(out: ByteWriter, bytes: Uint8Array): ChainLinks | undefined {
  return readCompact(bytes, (from, flags) => copyEvent(out, from, flags))
}

function copyEvent(out: ByteWriter, from: CompactReader, flags: number): ChainLinks {
  const accountID = from.text()
  copyWord(out, accountID, BEFORE.accountID)
  copyWord(out, from.oneOf(ACTION_TYPES), BEFORE.action)
  copyText(out, from, BEFORE.changeID)
  writeOutset(out, readOutset(from))
  copyText(out, from, BEFORE.requestID)
  if ((flags & FLAGS.sessionID) !== 0) copyText(out, from, BEFORE.sessionID)
  if ((flags & FLAGS.subject) !== 0) copyText(out, from, BEFORE.subject)
  copyText(out, from, BEFORE.traceID)
  if ((flags & FLAGS.userEmail) !== 0) copyText(out, from, BEFORE.userEmail)
  out.u8(CLOSE_OBJECT)
  if ((flags & FLAGS.credential) !== 0) copyText(out, from, BEFORE.credential)
  copyText(out, from, BEFORE.message)
  if ((flags & FLAGS.nested) !== 0) copyNested(out, from)
  const position = readPosition(from, flags)
  writePosition(out, position)
  copyWord(out, from.oneOf(RESOURCE_TYPES), BEFORE.resourceType)
  if ((flags & FLAGS.rows) !== 0) copyRows(out, from)
  if ((flags & FLAGS.table) !== 0) copyText(out, from, BEFORE.table)
  if ((flags & FLAGS.tables) !== 0) writeJson(out, BEFORE.tables, readTables(from))
  const timestamp = readTime(from)
  copyWord(out, timestamp, BEFORE.timestamp)
  const vaultID = (flags & FLAGS.vaultID) === 0 ? accountID : readOther(from, accountID)
  copyWord(out, vaultID, BEFORE.v)
  out.u8(CLOSE_OBJECT)
  return { position, timestamp, vaultID }
}

function readPosition(from: CompactReader, flags: number): WrittenPosition {
  const chain = readChain(from)
  const previous = (flags & FLAGS.previous) === 0 ? '' : from.raw(HASH_BYTES)
  return { chain, previous, sequence: readSequence(from) }
}

function copyText(out: ByteWriter, from: CompactReader, before: Uint8Array): void {
  out.raw(before)
  from.json(out)
}

function copyWord(out: ByteWriter, word: string, before: Uint8Array): void {
  out.raw(before)
  out.json(word)
}

function copyRows(out: ByteWriter, from: CompactReader): void {
  const count = from.count(MIN_BYTES.rows)
  out.raw(BEFORE.rows)
  for (let i = 0; i < count; i++) {
    if (i > 0) out.u8(COMMA)
    copyRowsOfTable(out, from)
  }
  out.u8(CLOSE_LIST)
}

/** The name of the table comes first, and is written last. */
function copyRowsOfTable(out: ByteWriter, from: CompactReader): void {
  const table = from.text()
  const count = from.count(MIN_BYTES.run)
  out.raw(BEFORE.runs)
  for (let i = 0; i < count; i++) {
    if (i > 0) out.u8(COMMA)
    out.u8(OPEN_LIST)
    out.decimal(readRowNumber(from))
    out.u8(COMMA)
    out.decimal(readRowNumber(from))
    out.u8(CLOSE_LIST)
  }
  copyWord(out, table, BEFORE.tableOfRows)
  out.u8(CLOSE_OBJECT)
}

/** The text in front of each member of a nested outcome, as bytes. */
const BEFORE_NESTED = {
  code: toUtf8('{"code":'),
  content: BEFORE.content,
  contentOf: toUtf8(',"contentOf":'),
  items: toUtf8(',"items":'),
  message: BEFORE.message,
  resourceType: toUtf8(',"resourceType":'),
  rows: toUtf8(',"rows":'),
} as const

function copyNested(out: ByteWriter, from: CompactReader): void {
  const count = from.count(MIN_BYTES.nested)
  out.raw(BEFORE.nested)
  out.u8(OPEN_LIST)
  for (let i = 0; i < count; i++) {
    if (i > 0) out.u8(COMMA)
    copyOutcome(out, from)
  }
  out.u8(CLOSE_LIST)
}

function copyOutcome(out: ByteWriter, from: CompactReader): void {
  const flags = from.flags(from.u8(), ALL_NESTED_FLAGS)
  copyNumber(out, readCode(from), BEFORE_NESTED.code)
  if ((flags & NESTED_FLAGS.content) !== 0) copyText(out, from, BEFORE_NESTED.content)
  if ((flags & NESTED_FLAGS.contentOf) !== 0) copyNumber(out, readContentOf(from), BEFORE_NESTED.contentOf)
  if ((flags & NESTED_FLAGS.items) !== 0) copyNumber(out, readItems(from), BEFORE_NESTED.items)
  copyText(out, from, BEFORE_NESTED.message)
  copyWord(out, from.oneOf(RESOURCE_TYPES), BEFORE_NESTED.resourceType)
  if ((flags & NESTED_FLAGS.rows) !== 0) {
    out.raw(BEFORE_NESTED.rows)
    copyRowsOfTable(out, from)
  }
  out.u8(CLOSE_OBJECT)
}

function copyNumber(out: ByteWriter, value: number, before: Uint8Array): void {
  out.raw(before)
  out.decimal(value)
}
