/** Writes the canonical text of an event from its compact form, without an object in between: a verification hashes the text of every event. */
import { HASH_BYTES } from '../ports/hash.ts'
import type { ByteWriter } from '../util/bytes.ts'
import { FLAGS } from './compact-layout.ts'
import type { CompactReader } from './compact-text.ts'
import { ACTION_TYPES, RESOURCE_TYPES } from './event-shape.ts'
import {
  readChain,
  readCompact,
  readNested,
  readOther,
  readOutset,
  readRows,
  readSequence,
  readTables,
  readTime,
} from './read-compact-event.ts'
import { BEFORE, CLOSE_OBJECT, type EventEnd, type WrittenPlace, writeEnd, writeNested, writeOutset } from './write-event.ts'

/** What a verification compares of an event. */
export type ChainLinks = Pick<WrittenPlace, 'position' | 'timestamp' | 'vaultID'>

/** Writes the text of the event of these bytes, and returns its links; undefined if they are not the compact form of an event. */
export function writeTextOfCompact(out: ByteWriter, bytes: Uint8Array): ChainLinks | undefined {
  return readCompact(bytes, (from, flags) => copyEvent(out, from, flags))
}

function copyEvent(out: ByteWriter, from: CompactReader, flags: number): ChainLinks {
  const accountID = from.text()
  out.raw(BEFORE.accountID)
  out.json(accountID)
  out.raw(BEFORE.action)
  out.json(from.oneOf(ACTION_TYPES))
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
  if ((flags & FLAGS.nested) !== 0) writeNested(out, readNested(from))
  const end = readEnd(from, flags, accountID)
  writeEnd(out, end)
  return end
}

function readEnd(from: CompactReader, flags: number, accountID: string): EventEnd {
  return {
    position: {
      chain: readChain(from),
      previous: (flags & FLAGS.previous) === 0 ? '' : from.raw(HASH_BYTES),
      sequence: readSequence(from),
    },
    resourceType: from.oneOf(RESOURCE_TYPES),
    rows: (flags & FLAGS.rows) === 0 ? undefined : readRows(from),
    table: (flags & FLAGS.table) === 0 ? undefined : from.text(),
    tables: (flags & FLAGS.tables) === 0 ? undefined : readTables(from),
    timestamp: readTime(from),
    vaultID: (flags & FLAGS.vaultID) === 0 ? accountID : readOther(from, accountID),
  }
}

function copyText(out: ByteWriter, from: CompactReader, before: Uint8Array): void {
  out.raw(before)
  from.json(out)
}
