/** Reads events from their bytes: as objects for listings, and as canonical text, without an object in between, for verification and export. */
import { type Fault, fault } from '../errors.ts'
import { HASH_BYTES } from '../ports/crypto.ts'
import { type ByteWriter, readI64 } from '../util/bytes.ts'
import { unreachable } from '../util/causes.ts'
import { toTimestamp } from '../util/time.ts'
import { beginLeaf } from './chain.ts'
import { CompactReader, DAMAGED } from './compact-text.ts'
import type { ChainedEvent } from './event.ts'
import { EVENT, type Kind, type ListKind, type Member, type ObjectKind } from './event-members.ts'
import { MARKS, MAX_KEPT_BYTES, VERSION, writeHex, writeRun } from './write-event.ts'

const TIME_BYTES = 8
const NO_BYTES = new Uint8Array(0)

/** What a verification compares of an event. */
export type ChainLinks = Pick<ChainedEvent, 'position' | 'timestamp' | 'vaultID'>

/** Returns the event of stored bytes. Throws `data_loss` if they are not an event in a known format. */
export function decodeEvent(bytes: Uint8Array): ChainedEvent {
  const event = readAll(bytes, readObject)
  if (event === undefined) throw unknownFormat()
  // The cast is safe: the members are those of an event.
  return event as unknown as ChainedEvent
}

/** What a count takes of an event. */
export type CountedEvent = Pick<ChainedEvent, (typeof COUNTED)[number]>

const COUNTED = ['accountID', 'action', 'code', 'timestamp', 'vaultID'] as const
const COUNTED_NAMES: ReadonlySet<string> = new Set(COUNTED)

/** Returns what a count takes of stored bytes, and passes over the rest. Throws like `decodeEvent`. */
export function decodeCounted(bytes: Uint8Array): CountedEvent {
  const event = readAll(bytes, (reading, { flags: known, own }) => {
    const flags = readFlags(reading.from, known)
    const members: Record<string, unknown> = {}
    for (const { flag, kind, name } of own) {
      if (flag !== 0 && (flags & flag) === 0) continue
      if (COUNTED_NAMES.has(name)) members[name] = readValue(reading, kind)
      else skipValue(reading, kind)
    }
    return members
  })
  if (event === undefined) throw unknownFormat()
  // The cast is safe: every event has these members.
  return event as unknown as CountedEvent
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
const passed = new Kept<undefined>(undefined)

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
  out.u8(MARKS.closeObject)
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
      out.u8(MARKS.one)
      return
    default:
      unreachable(kind)
  }
}

function copyList(out: ByteWriter, reading: Reading, { item }: ListKind): void {
  const count = reading.from.count(1)
  out.u8(MARKS.openList)
  for (let i = 0; i < count; i++) {
    if (i > 0) out.u8(MARKS.comma)
    copyValue(out, reading, item)
  }
  out.u8(MARKS.closeList)
}

function copyRuns(out: ByteWriter, from: CompactReader): void {
  const count = from.count(2)
  out.u8(MARKS.openList)
  for (let i = 0; i < count; i++) {
    if (i > 0) out.u8(MARKS.comma)
    writeRun(out, readRow(from), readRow(from))
  }
  out.u8(MARKS.closeList)
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

/** Passes over a value that is not counted. */
function skipValue(reading: Reading, kind: Kind): void {
  const { from } = reading
  switch (kind.op) {
    case 'text':
      from.skipText()
      return
    case 'list':
      for (let left = from.count(1); left > 0; left--) skipValue(reading, kind.item)
      return
    case 'object':
      skipObject(reading, kind)
      return
    default:
      readValue(reading, kind)
  }
}

function skipObject(reading: Reading, { flags: known, own, shared }: ObjectKind): void {
  const { from } = reading
  const flags = readFlags(from, known)
  if (shared.length > 0 && !passed.skip(from, flags)) {
    const start = from.at
    skipMembers(reading, shared, flags)
    passed.keep(from, start, flags, undefined)
  }
  skipMembers(reading, own, flags)
}

function skipMembers(reading: Reading, members: readonly Member[], flags: number): void {
  for (const { flag, kind } of members) if (flag === 0 || (flags & flag) !== 0) skipValue(reading, kind)
}

/** Reads a list whose items have at least so many bytes each. */
function readList(from: CompactReader, minBytes: number, readItem: () => unknown): unknown[] {
  const count = from.count(minBytes)
  const items: unknown[] = []
  for (let i = 0; i < count; i++) items.push(readItem())
  return items
}
