/** Writes events: their canonical text (RFC 8785), which is digested and exported, and their bytes, which are sealed. */
import { ByteWriter } from '../util/bytes.ts'
import { unreachable } from '../util/causes.ts'
import { fromHex } from '../util/text.ts'
import { writeNumber, writeText } from './compact-text.ts'
import type { ChainedEvent, EventRows } from './event.ts'
import { EVENT, type Kind, type ListKind, type Member, type ObjectKind, type WrittenEvent } from './event-members.ts'

/*
 * Bytes: VERSION 1 | the event. Members come in the order of the canonical text, without names; texts and numbers are those of
 * `compact-text.ts`.
 * - An object with members that can be absent: a byte with the flags of those that exist, and the members.
 * - A list: the number of its items, and each. Runs: their number, and two numbers each.
 * - A word: its index in the list of its words, 1. A digest: 0, or 1 and its 32 bytes. A time: nanoseconds since 1970, 8.
 * - The vault: 0 if its id is that of the account, else 1 and its text. The version of the event has no bytes.
 */
export const VERSION = 1
/** Characters of the text. */
export const MARKS = { quote: 0x22, comma: 0x2c, one: 0x31, openList: 0x5b, closeList: 0x5d, closeObject: 0x7d } as const
const NO_BYTES = new Uint8Array(0)
/** Length of the members that are kept for the next event, in each form. More would cost as much memory as they save time. */
export const MAX_KEPT_BYTES = 1024

/** Writes the canonical text of an event, and its bytes. */
export function writeEvent(text: ByteWriter, bytes: ByteWriter, event: WrittenEvent): void {
  bytes.u8(VERSION)
  writeObject(text, bytes, EVENT, event)
}

/** Returns the canonical text of an event as UTF-8. */
export function encodeEvent(event: ChainedEvent): Uint8Array {
  const out = new ByteWriter()
  // Its bytes are not used, so they need no time: any text of the right form has passed as a timestamp.
  writeEvent(out, new ByteWriter(), { ...event, at: 0n })
  return out.written()
}

/** The members that most objects share with the one before, as they were written last. */
const written = { values: [] as readonly unknown[], flags: 0, text: NO_BYTES, bytes: NO_BYTES }

/** Writes an object. Most are written after one of the same caller, whose members are not written again. */
function writeObject(text: ByteWriter, bytes: ByteWriter, object: ObjectKind, value: unknown): void {
  const { own, shared, flags: known } = object
  const start = bytes.length
  if (known > 0) bytes.u8(0)
  let flags = 0
  if (shared.length > 0) flags = writeShared(text, bytes, shared, value)
  flags |= writeMembers(text, bytes, own, value)
  if (known > 0) bytes.bytes[start] = flags
  text.u8(MARKS.closeObject)
}

function writeShared(text: ByteWriter, bytes: ByteWriter, shared: readonly Member[], value: unknown): number {
  if (isWritten(shared, value)) {
    text.raw(written.text)
    bytes.raw(written.bytes)
    return written.flags
  }
  const [textStart, bytesStart] = [text.length, bytes.length]
  const flags = writeMembers(text, bytes, shared, value)
  const isShort = Math.max(text.length - textStart, bytes.length - bytesStart) <= MAX_KEPT_BYTES
  written.values = isShort ? shared.map(({ get }) => get(value)) : []
  written.flags = flags
  written.text = isShort ? text.bytes.slice(textStart, text.length) : NO_BYTES
  written.bytes = isShort ? bytes.bytes.slice(bytesStart, bytes.length) : NO_BYTES
  return flags
}

function isWritten(shared: readonly Member[], value: unknown): boolean {
  const { values } = written
  if (values.length === 0) return false
  for (let i = 0; i < shared.length; i++) if (shared[i]?.get(value) !== values[i]) return false
  return true
}

/** Writes those members that exist, and returns their flags. */
function writeMembers(text: ByteWriter, bytes: ByteWriter, members: readonly Member[], object: unknown): number {
  let flags = 0
  for (const { before, flag, get, kind } of members) {
    const value = get(object)
    if (value === undefined) continue
    flags |= flag
    text.raw(before)
    writeValue(text, bytes, kind, value)
  }
  return flags
}

/** Writes a value. The casts are safe: the compiler checks that each member returns values of its kind. */
function writeValue(text: ByteWriter, bytes: ByteWriter, kind: Kind, value: unknown): void {
  switch (kind.op) {
    case 'text':
    case 'account':
      text.json(value as string)
      writeText(bytes, value as string)
      return
    case 'word':
      text.json(value as string)
      bytes.u8(kind.words.indexOf(value as string))
      return
    case 'number':
      text.decimal(value as number)
      writeNumber(bytes, value as number)
      return
    case 'runs':
      writeRuns(text, bytes, value as EventRows['runs'])
      return
    case 'list':
      writeList(text, bytes, kind, value as readonly unknown[])
      return
    case 'object':
      writeObject(text, bytes, kind, value)
      return
    case 'digest':
      writeDigest(text, bytes, value as string | Uint8Array)
      return
    case 'time':
      text.json((value as WrittenEvent).timestamp)
      bytes.i64((value as WrittenEvent).at)
      return
    case 'vault':
      writeVault(text, bytes, value as WrittenEvent)
      return
    case 'version':
      text.u8(MARKS.one)
      return
    default:
      unreachable(kind)
  }
}

function writeList(text: ByteWriter, bytes: ByteWriter, { item }: ListKind, values: readonly unknown[]): void {
  bytes.varint(values.length)
  text.u8(MARKS.openList)
  for (let i = 0; i < values.length; i++) {
    if (i > 0) text.u8(MARKS.comma)
    writeValue(text, bytes, item, values[i])
  }
  text.u8(MARKS.closeList)
}

function writeRuns(text: ByteWriter, bytes: ByteWriter, runs: EventRows['runs']): void {
  bytes.varint(runs.length)
  text.u8(MARKS.openList)
  let isFirst = true
  for (const [first, count] of runs) {
    if (!isFirst) text.u8(MARKS.comma)
    isFirst = false
    writeNumber(bytes, first)
    writeNumber(bytes, count)
    writeRun(text, first, count)
  }
  text.u8(MARKS.closeList)
}

/** Writes the text of a run. */
export function writeRun(text: ByteWriter, first: number, count: number): void {
  text.u8(MARKS.openList)
  text.decimal(first)
  text.u8(MARKS.comma)
  text.decimal(count)
  text.u8(MARKS.closeList)
}

function writeDigest(text: ByteWriter, bytes: ByteWriter, digest: string | Uint8Array): void {
  const raw = typeof digest === 'string' ? fromHex(digest) : digest
  bytes.u8(raw.length === 0 ? 0 : 1)
  bytes.raw(raw)
  writeHex(text, raw)
}

/** Writes the text of a digest. */
export function writeHex(text: ByteWriter, raw: Uint8Array): void {
  text.u8(MARKS.quote)
  text.hex(raw)
  text.u8(MARKS.quote)
}

function writeVault(text: ByteWriter, bytes: ByteWriter, { accountID, vaultID }: WrittenEvent): void {
  text.json(vaultID)
  bytes.u8(vaultID === accountID ? 0 : 1)
  if (vaultID !== accountID) writeText(bytes, vaultID)
}
