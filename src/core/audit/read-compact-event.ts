/** Reads the compact form of an event. Each event has one such form: bytes that would not be written again are refused. */
import { MAX_CHAINS } from '../limits.ts'
import { HASH_BYTES } from '../ports/crypto.ts'
import { MAX_ROW_ID } from '../ports/storage.ts'
import { readI64 } from '../util/bytes.ts'
import { toTimestamp } from '../util/time.ts'
import { ALL_FLAGS, ALL_NESTED_FLAGS, ALL_OUTSET_FLAGS, COMPACT, FLAGS, NESTED_FLAGS, OUTSET_FLAGS } from './compact-layout.ts'
import { CompactReader, DAMAGED } from './compact-text.ts'
import type { ChainedEvent, EventRows, NestedOutcome } from './event.ts'
import { ACCESS_TYPES, ACTION_TYPES, ACTOR_TYPES, AUTH_MODES, RESOURCE_TYPES } from './event-shape.ts'
import { KeptOutset, type Outset } from './kept-outset.ts'

const MAX_SEQUENCE = 0xffff_ffff
const MIN_CODE = 100
const MAX_CODE = 599
const TIME_BYTES = 8
/** Fewest bytes of a text, of rows of a table, of a run and of a nested outcome. */
export const MIN_BYTES = { text: 1, rows: 2, run: 2, nested: 5 } as const

/** Most events follow another one of the same caller and kind. */
const kept = new KeptOutset()

/** Returns the event of these bytes; undefined if they are not the compact form of an event. */
export function readCompactEvent(bytes: Uint8Array): ChainedEvent | undefined {
  return readCompact(bytes, readEvent)
}

/** Returns what `readAll` reads of the compact form; undefined if the bytes are damaged, or longer. */
export function readCompact<T>(bytes: Uint8Array, readAll: (from: CompactReader, flags: number) => T): T | undefined {
  const from = new CompactReader(bytes)
  try {
    if (from.u8() !== COMPACT) return undefined
    const all = readAll(from, from.flags(from.u16(), ALL_FLAGS))
    return from.at === bytes.length ? all : undefined
  } catch (error) {
    if (error === DAMAGED) return undefined
    throw error
  }
}

/** Members come in the order of the canonical text, which is also the order in which a listing returns a context. */
function readEvent(from: CompactReader, flags: number): ChainedEvent {
  const accountID = from.text()
  const action = from.oneOf(ACTION_TYPES)
  const changeID = from.text()
  const { code, content, context: outset } = readOutset(from)
  return {
    v: 1,
    accountID,
    action,
    changeID,
    code,
    content,
    context: {
      ...outset,
      requestID: from.text(),
      ...readOptional(from, flags & FLAGS.sessionID, 'sessionID'),
      ...readOptional(from, flags & FLAGS.subject, 'subject'),
      traceID: from.text(),
      ...readOptional(from, flags & FLAGS.userEmail, 'userEmail'),
    },
    credential: (flags & FLAGS.credential) === 0 ? undefined : from.text(),
    message: from.text(),
    nested: (flags & FLAGS.nested) === 0 ? undefined : readNested(from),
    position: {
      chain: readChain(from),
      previous: (flags & FLAGS.previous) === 0 ? '' : from.hex(HASH_BYTES),
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

/** Reads the members from `code` to the one before `requestID`. */
export function readOutset(from: CompactReader): Outset {
  const known = kept.at(from.bytes, from.at)
  if (known !== undefined) {
    from.skip(known.bytes.length)
    return known.outset
  }
  const start = from.at
  const flags = from.flags(from.u8(), ALL_OUTSET_FLAGS)
  const code = readCode(from)
  const content = (flags & OUTSET_FLAGS.content) === 0 ? undefined : from.text()
  const context = {
    accessType: from.oneOf(ACCESS_TYPES),
    actor: from.text(),
    actorType: from.oneOf(ACTOR_TYPES),
    authMode: from.oneOf(AUTH_MODES),
    ...readOptional(from, flags & OUTSET_FLAGS.bearerTokenContextID, 'bearerTokenContextID'),
    ...readOptional(from, flags & OUTSET_FLAGS.clientTraceID, 'clientTraceID'),
    ipAddress: from.text(),
    jwtID: from.text(),
    ...readOptional(from, flags & OUTSET_FLAGS.keyID, 'keyID'),
    ...readOptional(from, flags & OUTSET_FLAGS.origin, 'origin'),
  }
  const outset = { code, content, context }
  kept.keep(outset, from.bytes, start, from.at)
  return outset
}

/** Reads a text if its flag says that it exists. */
function readOptional<Name extends string>(from: CompactReader, flag: number, name: Name): { [K in Name]?: string } | undefined {
  if (flag === 0) return undefined
  const member: { [K in Name]?: string } = {}
  member[name] = from.text()
  return member
}

/** Reads a status. */
export function readCode(from: CompactReader): number {
  const code = from.u16()
  if (code < MIN_CODE || code > MAX_CODE) throw DAMAGED
  return code
}

/** Reads the number of a chain. */
export function readChain(from: CompactReader): number {
  return from.number(1, MAX_CHAINS)
}

/** Reads a sequence number. */
export function readSequence(from: CompactReader): number {
  return from.number(1, MAX_SEQUENCE)
}

/** Reads a text that is left out if it is the same as another one. */
export function readOther(from: CompactReader, other: string): string {
  const text = from.text()
  if (text === other) throw DAMAGED
  return text
}

/** Reads a list whose items have at least `minBytes` bytes each. */
function readList<T>(from: CompactReader, minBytes: number, readItem: (from: CompactReader) => T): T[] {
  const count = from.count(minBytes)
  const items: T[] = []
  for (let i = 0; i < count; i++) items.push(readItem(from))
  return items
}

/** Reads the tables of an event. */
export function readTables(from: CompactReader): string[] {
  return readList(from, MIN_BYTES.text, (text) => text.text())
}

function readRows(from: CompactReader): EventRows[] {
  return readList(from, MIN_BYTES.rows, readRowsOfTable)
}

function readRowsOfTable(from: CompactReader): EventRows {
  return { table: from.text(), runs: readList(from, MIN_BYTES.run, readRun) }
}

function readRun(from: CompactReader): EventRows['runs'][number] {
  return [readRowNumber(from), readRowNumber(from)]
}

/** Reads the first row of a run, or their count. */
export function readRowNumber(from: CompactReader): number {
  return from.number(1, Number.MAX_SAFE_INTEGER)
}

function readNested(from: CompactReader): NestedOutcome[] {
  return readList(from, MIN_BYTES.nested, readOutcome)
}

function readOutcome(from: CompactReader): NestedOutcome {
  const flags = from.flags(from.u8(), ALL_NESTED_FLAGS)
  const code = readCode(from)
  const content = (flags & NESTED_FLAGS.content) === 0 ? undefined : { content: from.text() }
  const contentOf = (flags & NESTED_FLAGS.contentOf) === 0 ? undefined : { contentOf: readContentOf(from) }
  const items = (flags & NESTED_FLAGS.items) === 0 ? undefined : { items: readItems(from) }
  const message = from.text()
  const resourceType = from.oneOf(RESOURCE_TYPES)
  const rows = (flags & NESTED_FLAGS.rows) === 0 ? undefined : { rows: readRowsOfTable(from) }
  return { code, ...content, ...contentOf, ...items, message, resourceType, ...rows }
}

/** Reads the position of a result with the same content. */
export function readContentOf(from: CompactReader): number {
  return from.number(0, Number.MAX_SAFE_INTEGER)
}

/** Reads a number of items, which is absent for one. */
export function readItems(from: CompactReader): number {
  return from.number(2, MAX_ROW_ID)
}

/** Reads the time as a timestamp. It is from 1970 on, and below 2^63 nanoseconds. */
export function readTime(from: CompactReader): string {
  const time = BigInt(readI64(from.bytes, from.skip(TIME_BYTES)))
  if (time < 0n) throw DAMAGED
  return toTimestamp(time)
}
