/** Writes and reads events: their canonical text (RFC 8785), which is digested and exported, and their bytes, which are sealed. */
import { type Fault, fault } from '../errors.ts'
import { HASH_BYTES } from '../ports/crypto.ts'
import { ByteWriter, readI64 } from '../util/bytes.ts'
import { unreachable } from '../util/causes.ts'
import { fromHex } from '../util/text.ts'
import { toTimestamp } from '../util/time.ts'
import { CompactReader, DAMAGED, writeNumber, writeText } from './compact-text.ts'
import type { ChainedEvent, EventRows } from './event.ts'
import { EVENT, type Kind, type ListKind, type Member, type ObjectKind, type WrittenEvent } from './event-members.ts'
import { beginLeaf } from './merkle.ts'

/*
 * Bytes: VERSION 1 | the event. Members come in the order of the canonical text, without names; texts and numbers are those of
 * `compact-text.ts`.
 * - An object with members that can be absent: a byte with the flags of those that exist, and the members.
 * - A list: the number of its items, and each. Runs: their number, and two numbers each.
 * - A word: its index in the list of its words, 1. A digest: 0, or 1 and its 32 bytes. A time: nanoseconds since 1970, 8.
 * - The vault: 0 if its id is that of the account, else 1 and its text. The version of the event has no bytes.
 */
const VERSION = 1
const TIME_BYTES = 8
const [QUOTE, COMMA, ONE, OPEN_LIST, CLOSE_LIST, CLOSE_OBJECT] = [0x22, 0x2c, 0x31, 0x5b, 0x5d, 0x7d] as const
const NO_BYTES = new Uint8Array(0)
/** Length of the members that are kept for the next event, in each form. More would cost as much memory as they save time. */
const MAX_KEPT_BYTES = 1024

/** What a verification compares of an event. */
export type ChainLinks = Pick<ChainedEvent, 'position' | 'timestamp' | 'vaultID'>

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

/** Returns the event of stored bytes. Throws `data_loss` if they are not an event in a known format. */
export function decodeEvent(bytes: Uint8Array): ChainedEvent {
  const event = readAll(bytes, readObject)
  if (event === undefined) throw unknownFormat()
  // The cast is safe: the members are those of an event.
  return event as unknown as ChainedEvent
}

/** Writes the leaf of stored bytes: its prefix and the canonical text. Throws `data_loss` if they are not an event. */
export function writeLeaf(out: ByteWriter, bytes: Uint8Array): void {
  beginLeaf(out)
  if (copyText(out, bytes) === undefined) throw unknownFormat()
}

/** Writes the canonical text of stored bytes, without an object in between. Returns what the event is chained by; undefined for other bytes. */
export function copyText(out: ByteWriter, bytes: Uint8Array): ChainLinks | undefined {
  const found = readAll(bytes, (reading, event) => {
    copyObject(out, reading, event)
    return reading
  })
  if (found === undefined) return undefined
  const { chain, sequence, previous, timestamp, vaultID } = found
  return { position: { chain, sequence, previous }, timestamp, vaultID }
}

function unknownFormat(): Fault {
  return fault('data_loss')`An audit event has an unknown format. Run vault.verifyAudit().`
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
  text.u8(CLOSE_OBJECT)
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
      text.u8(ONE)
      return
    default:
      unreachable(kind)
  }
}

function writeList(text: ByteWriter, bytes: ByteWriter, { item }: ListKind, values: readonly unknown[]): void {
  bytes.varint(values.length)
  text.u8(OPEN_LIST)
  for (let i = 0; i < values.length; i++) {
    if (i > 0) text.u8(COMMA)
    writeValue(text, bytes, item, values[i])
  }
  text.u8(CLOSE_LIST)
}

function writeRuns(text: ByteWriter, bytes: ByteWriter, runs: EventRows['runs']): void {
  bytes.varint(runs.length)
  text.u8(OPEN_LIST)
  let isFirst = true
  for (const [first, count] of runs) {
    if (!isFirst) text.u8(COMMA)
    isFirst = false
    writeNumber(bytes, first)
    writeNumber(bytes, count)
    writeRun(text, first, count)
  }
  text.u8(CLOSE_LIST)
}

function writeRun(text: ByteWriter, first: number, count: number): void {
  text.u8(OPEN_LIST)
  text.decimal(first)
  text.u8(COMMA)
  text.decimal(count)
  text.u8(CLOSE_LIST)
}

function writeDigest(text: ByteWriter, bytes: ByteWriter, digest: string | Uint8Array): void {
  const raw = typeof digest === 'string' ? fromHex(digest) : digest
  bytes.u8(raw.length === 0 ? 0 : 1)
  bytes.raw(raw)
  writeHex(text, raw)
}

function writeHex(text: ByteWriter, raw: Uint8Array): void {
  text.u8(QUOTE)
  text.hex(raw)
  text.u8(QUOTE)
}

function writeVault(text: ByteWriter, bytes: ByteWriter, { accountID, vaultID }: WrittenEvent): void {
  text.json(vaultID)
  bytes.u8(vaultID === accountID ? 0 : 1)
  if (vaultID !== accountID) writeText(bytes, vaultID)
}

/** The bytes of one event, and what was read of it so far: what verifications compare, and the account, whose id the vault can have. */
class Reading {
  readonly from: CompactReader
  accountID = ''
  chain = 0
  sequence = 0
  previous: Uint8Array = NO_BYTES
  timestamp = ''
  vaultID = ''

  constructor(bytes: Uint8Array) {
    this.from = new CompactReader(bytes)
  }
}

/** Returns what `read` reads of stored bytes; undefined if they are damaged, or longer. */
function readAll<T>(bytes: Uint8Array, read: (reading: Reading, event: ObjectKind) => T): T | undefined {
  const reading = new Reading(bytes)
  const { from } = reading
  try {
    if (from.u8() !== VERSION) return undefined
    const all = read(reading, EVENT)
    return from.at === bytes.length ? all : undefined
  } catch (error) {
    if (error === DAMAGED) return undefined
    throw error
  }
}

/** Reads the flags of the members that exist, if some of them can be absent. */
function readFlags(from: CompactReader, known: number): number {
  return known === 0 ? 0 : from.flags(from.u8(), known)
}

/** Shared members as they were read last, the flags in front of them, and what was made of them. */
class Kept<Made> {
  made: Made
  #flags = -1
  #bytes = NO_BYTES

  constructor(none: Made) {
    this.made = none
  }

  /** Passes over the same members. Returns false if others follow. */
  skip(from: CompactReader, flags: number): boolean {
    const bytes = this.#bytes
    if (flags !== this.#flags || from.at + bytes.length > from.bytes.length) return false
    for (let i = 0; i < bytes.length; i++) if (bytes[i] !== from.bytes[from.at + i]) return false
    from.skip(bytes.length)
    return true
  }

  /** Keeps what was made of the members from an offset on, if they are short. */
  keep(from: CompactReader, start: number, flags: number, made: Made): void {
    if (from.at - start > MAX_KEPT_BYTES) return
    this.made = made
    this.#flags = flags
    this.#bytes = from.bytes.slice(start, from.at)
  }
}

const copied = new Kept<Uint8Array>(NO_BYTES)
const read = new Kept<Readonly<Record<string, unknown>>>({})

function copyObject(out: ByteWriter, reading: Reading, { flags: known, own, shared }: ObjectKind): void {
  const { from } = reading
  const flags = readFlags(from, known)
  if (shared.length > 0) {
    if (copied.skip(from, flags)) out.raw(copied.made)
    else {
      const [start, outStart] = [from.at, out.length]
      copyMembers(out, reading, shared, flags)
      copied.keep(from, start, flags, out.bytes.slice(outStart, out.length))
    }
  }
  copyMembers(out, reading, own, flags)
  out.u8(CLOSE_OBJECT)
}

function copyMembers(out: ByteWriter, reading: Reading, members: readonly Member[], flags: number): void {
  for (const member of members) {
    if (member.flag !== 0 && (flags & member.flag) === 0) continue
    out.raw(member.before)
    copyValue(out, reading, member.kind)
  }
}

function copyValue(out: ByteWriter, reading: Reading, kind: Kind): void {
  const { from } = reading
  switch (kind.op) {
    case 'text':
      from.json(out)
      return
    case 'word':
      out.json(from.oneOf(kind.words))
      return
    case 'number': {
      const value = from.number(kind.min, kind.max)
      if (kind.link !== undefined) reading[kind.link] = value
      out.decimal(value)
      return
    }
    case 'runs':
      copyRuns(out, from)
      return
    case 'list':
      copyList(out, reading, kind)
      return
    case 'object':
      copyObject(out, reading, kind)
      return
    case 'digest':
      reading.previous = readDigest(from)
      writeHex(out, reading.previous)
      return
    case 'time':
      reading.timestamp = readTime(from)
      out.json(reading.timestamp)
      return
    case 'account':
      reading.accountID = from.text()
      out.json(reading.accountID)
      return
    case 'vault':
      reading.vaultID = readVault(reading)
      out.json(reading.vaultID)
      return
    case 'version':
      out.u8(ONE)
      return
    default:
      unreachable(kind)
  }
}

function copyList(out: ByteWriter, reading: Reading, { item }: ListKind): void {
  const count = reading.from.count(1)
  out.u8(OPEN_LIST)
  for (let i = 0; i < count; i++) {
    if (i > 0) out.u8(COMMA)
    copyValue(out, reading, item)
  }
  out.u8(CLOSE_LIST)
}

function copyRuns(out: ByteWriter, from: CompactReader): void {
  const count = from.count(2)
  out.u8(OPEN_LIST)
  for (let i = 0; i < count; i++) {
    if (i > 0) out.u8(COMMA)
    writeRun(out, readRow(from), readRow(from))
  }
  out.u8(CLOSE_LIST)
}

/** Reads the first row of a run, or the number of its rows. */
function readRow(from: CompactReader): number {
  return from.number(1, Number.MAX_SAFE_INTEGER)
}

function readDigest(from: CompactReader): Uint8Array {
  return isThere(from) ? from.raw(HASH_BYTES) : NO_BYTES
}

function isThere(from: CompactReader): boolean {
  return from.number(0, 1) === 1
}

/** Reads a time from 1970 on, and below 2^63 nanoseconds, as a timestamp. */
function readTime(from: CompactReader): string {
  const time = BigInt(readI64(from.bytes, from.skip(TIME_BYTES)))
  if (time < 0n) throw DAMAGED
  return toTimestamp(time)
}

function readVault({ accountID, from }: Reading): string {
  const vaultID = isThere(from) ? from.text() : undefined
  if (vaultID === accountID) throw DAMAGED
  return vaultID ?? accountID
}

function readObject(reading: Reading, { flags: known, own, shared }: ObjectKind): Record<string, unknown> {
  const flags = readFlags(reading.from, known)
  return readMembers(reading, own, flags, shared.length === 0 ? {} : readShared(reading, shared, flags))
}

/** Returns an object with the shared members. */
function readShared(reading: Reading, shared: readonly Member[], flags: number): Record<string, unknown> {
  const { from } = reading
  if (read.skip(from, flags)) return { ...read.made }
  const start = from.at
  const made = readMembers(reading, shared, flags, {})
  read.keep(from, start, flags, { ...made })
  return made
}

/** Adds the members that exist to an object. */
function readMembers(
  reading: Reading,
  members: readonly Member[],
  flags: number,
  object: Record<string, unknown>,
): Record<string, unknown> {
  for (const { flag, kind, name } of members) {
    if (flag === 0 || (flags & flag) !== 0) object[name] = readValue(reading, kind)
  }
  return object
}

function readValue(reading: Reading, kind: Kind): unknown {
  const { from } = reading
  switch (kind.op) {
    case 'text':
      return from.text()
    case 'word':
      return from.oneOf(kind.words)
    case 'number':
      return from.number(kind.min, kind.max)
    case 'runs':
      return readList(from, 2, () => [readRow(from), readRow(from)])
    case 'list':
      return readList(from, 1, () => readValue(reading, kind.item))
    case 'object':
      return readObject(reading, kind)
    case 'digest':
      // A copy, because an event of a listing is kept longer than the bytes it is read from.
      return readDigest(from).slice()
    case 'time':
      return readTime(from)
    case 'account':
      reading.accountID = from.text()
      return reading.accountID
    case 'vault':
      return readVault(reading)
    case 'version':
      return 1
    default:
      return unreachable(kind)
  }
}

/** Reads a list whose items have at least so many bytes each. */
function readList(from: CompactReader, minBytes: number, readItem: () => unknown): unknown[] {
  const count = from.count(minBytes)
  const items: unknown[] = []
  for (let i = 0; i < count; i++) items.push(readItem())
  return items
}
