/** Rows as encrypted pointers, both ways: public ids of records and events, versions, and the cursors of pages, of which none is one of the others. */
import { type KeyRing, POINTER_WORDS } from '../ports/crypto.ts'
import type { Cell, Page, Row } from '../ports/storage.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { type Pointer, readPointer, toUuidTexts, writePointer } from '../sealing/envelope.ts'
import { ByteWriter, readU32, toHex } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import { fewNumbers, toSlab } from '../util/memory.ts'
import { fromBase64Url, fromHex, toBase64Url } from '../util/text.ts'
import { digestItems, keyOfCell } from './digest-values.ts'

/** Returns the public id of each row of a table, in order: a UUID, version 4, by default of the newest look-up keys. */
export function encodeRecordIds(
  ring: KeyRing,
  table: Pick<Table, 'objectId'>,
  ids: readonly number[],
  version = ring.lookupVersion,
): string[] {
  const words = fewNumbers(ids.length * POINTER_WORDS)
  writeRecordPointers(words, table, ids)
  return ring.encryptPointers(version, words)
}

/** Returns every id that records of these rows can be known by: during a rotation of look-up keys, those of both. */
export function allRecordIds(ring: KeyRing, table: Pick<Table, 'objectId'>, ids: readonly number[]): string[] {
  return ring.lookupVersions.flatMap((version) => encodeRecordIds(ring, table, ids, version))
}

/** Writes the pointers of these rows to the start of a list of words. Throws `internal` for a missing row id. */
export function writeRecordPointers(words: Uint32Array, { objectId }: Pick<Table, 'objectId'>, ids: readonly number[]): void {
  for (let i = 0; i < ids.length; i++) {
    writePointer(words, i, { objectId, row: required(ids[i], 'A row id'), checkHigh: 0, checkLow: 0 })
  }
}

/** A row, and how often it was written. */
export type RowVersion = Pick<Row, 'id' | 'version'>

/**
 * Returns the version of each row as a text that says nothing to callers: a UUID, version 4, like the id of its record. The version is in the
 * place of the token check, which is zero in ids. Versions are safe integers from 1.
 */
export function encodeVersions(ring: KeyRing, { objectId }: Pick<Table, 'objectId'>, rows: readonly RowVersion[]): string[] {
  const words = fewNumbers(rows.length * POINTER_WORDS)
  for (const [index, { id, version }] of rows.entries()) {
    const pointer = { objectId, row: id, checkHigh: Math.floor(version / HIGH_UNIT), checkLow: version >>> 0 }
    writePointer(words, index, pointer)
  }
  return ring.encryptPointers(ring.lookupVersion, words)
}

/** What a bit of the high word of a version counts. */
const HIGH_UNIT = 2 ** 32

/** Returns what `encodeVersions` made each text of, in order; undefined for text that is no version of a row of this table. */
export function decodeVersions(
  ring: KeyRing,
  table: Pick<Table, 'objectId'>,
  texts: readonly string[],
): (RowVersion | undefined)[] {
  const read = (one: number): (RowVersion | undefined)[] => {
    const { words, wellFormed } = ring.decryptPointers(one, toUuidTexts(texts))
    return texts.map((_, index) => {
      const { objectId, row, checkHigh, checkLow } = readPointer(words, index)
      const version = checkHigh * HIGH_UNIT + checkLow
      return wellFormed[index] === 1 && objectId === table.objectId && version > 0 ? { id: row, version } : undefined
    })
  }
  const [found = [], other] = ring.lookupVersions.map(read)
  // A text of the other key can look like a version by chance: one of a row that was written more than a billion times.
  return other === undefined ? found : found.map((one, index) => lower(one, other[index]))
}

function lower(left: RowVersion | undefined, right: RowVersion | undefined): RowVersion | undefined {
  return left === undefined || (right !== undefined && right.version < left.version) ? right : left
}

/** Object id of audit events in pointers. No table of a schema has it. */
const EVENT_OBJECT_ID = 0

/** Returns the public id of the audit event at each row, in order. */
export function encodeChangeIds(ring: KeyRing, rows: readonly number[]): string[] {
  return encodeRecordIds(ring, { objectId: EVENT_OBJECT_ID }, rows)
}

/** Returns the row id of each audit event, in order; undefined for text that is not the id of an event. */
export function decodeChangeIds(ring: KeyRing, texts: readonly string[]): (number | undefined)[] {
  return decodeRecordIds(ring, { objectId: EVENT_OBJECT_ID }, texts)
}

/** Returns the row id of each public id, in order; undefined for text that is not an id of this table. The row may not exist. */
export function decodeRecordIds(ring: KeyRing, table: Pick<Table, 'objectId'>, texts: readonly string[]): (number | undefined)[] {
  const rows: (number | undefined)[] = new Array(texts.length).fill(undefined)
  for (const version of ring.lookupVersions) {
    const { words, wellFormed } = ring.decryptPointers(version, toUuidTexts(texts))
    for (let i = 0; i < texts.length; i++) {
      const { objectId, row, checkHigh, checkLow } = readPointer(words, i)
      const isOurs = wellFormed[i] === 1 && objectId === table.objectId && checkHigh === 0 && checkLow === 0
      if (isOurs) rows[i] = row
    }
  }
  return rows
}

/** A read page by page. Its cursors are of no other read. */
export interface PagedRead {
  readonly table: Pick<Table, 'objectId'>
  readonly order: Page['order']
  /** The column that is looked up, and the cells to find, as those of one root key; undefined for every record. */
  readonly lookup: { readonly column: Pick<Column, 'objectId'>; cells(version: number): readonly Cell[] } | undefined
  /** A text for each further condition, equal for equal ones only. Default: none. */
  readonly conditions?: readonly string[] | undefined
  /** The column that orders the records, in place of their ids. */
  readonly by?: Pick<Column, 'objectId'> | undefined
}

/** Scope of the digests of reads. Those of columns contain a slash. */
const SCOPE = 'cursor'
/** The first byte of the check in a pointer that is a cursor. It makes the check of none zero, as that of a record id is. */
const KIND = 1
/** Bits of the check after the kind, of 26 in its high word. */
const HIGH_BITS = 18
const UUID_BYTES = 16

/** The rows of a page, and the one that its cursor comes after; undefined for none. Row 0, which never exists, is the start of a rising read. */
export interface PageRows {
  readonly rows: readonly number[]
  readonly last: number | undefined
}

/** Returns the public ids of a page, and its cursor: 22 characters of base64url. One call of the key ring encrypts them all. */
export function encodePage(
  ring: KeyRing,
  read: PagedRead,
  { rows, last }: PageRows,
): { readonly ids: readonly string[]; readonly next: string | undefined } {
  if (last === undefined) return { ids: encodeRecordIds(ring, read.table, rows), next: undefined }
  const words = new Uint32Array((rows.length + 1) * POINTER_WORDS)
  writeRecordPointers(words, read.table, rows)
  writePointer(words, rows.length, { objectId: read.table.objectId, row: last, ...checkOf(ring, read, ring.lookupVersion) })
  const ids = ring.encryptPointers(ring.lookupVersion, words)
  const uuid = required(ids.pop(), 'The cursor of a page')
  return { ids, next: toBase64Url(fromHex(uuid.replaceAll('-', ''))) }
}

/** Returns the row of a cursor, which may not exist any more; undefined for a text that is no cursor of this read. */
export function decodeCursor(ring: KeyRing, read: PagedRead, text: string): number | undefined {
  const bytes = text.length > 2 * UUID_BYTES ? undefined : fromBase64Url(text)
  if (bytes?.length !== UUID_BYTES) return undefined
  for (const version of ring.lookupVersions) {
    const { words, wellFormed } = ring.decryptPointers(version, [toUuid(bytes)])
    const { objectId, row, checkHigh, checkLow } = readPointer(words, 0)
    const check = checkOf(ring, read, version)
    const isOurs = objectId === read.table.objectId && checkHigh === check.checkHigh && checkLow === check.checkLow
    if (wellFormed[0] === 1 && isOurs) return row
  }
  return undefined
}

function toUuid(bytes: Uint8Array): string {
  const hex = toHex(bytes)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** The two words of a pointer that say what the read finds, and in which order. */
type Check = Pick<Pointer, 'checkHigh' | 'checkLow'>

/** The checks of reads of every record by order and root key: the same for all tables of a key ring. */
const checksOfAll = new WeakMap<KeyRing, Map<string, Check>>()

function checkOf(ring: KeyRing, read: PagedRead, version: number): Check {
  if (read.lookup !== undefined || read.conditions !== undefined) return computeCheck(ring, read, version)
  const name = `${read.order}${version}`
  const checks = checksOfAll.get(ring) ?? new Map<string, Check>()
  const check = checks.get(name) ?? computeCheck(ring, read, version)
  checksOfAll.set(ring, checks.set(name, check))
  return check
}

/** Returns the kind, and 50 bits of a digest of what the read finds, and in which order. */
function computeCheck(ring: KeyRing, read: PagedRead, version: number): Check {
  const digest = digestRead(ring, read, version)
  return { checkHigh: KIND * 2 ** HIGH_BITS + (readU32(digest, 0) >>> (32 - HIGH_BITS)), checkLow: readU32(digest, 4) }
}

/** Bits of the first byte that say what a read has besides a falling order. */
const HAS_CONDITIONS = 2
const HAS_COLUMN = 4

/** Returns DIGEST_BYTES of what a read finds, and in which order. */
export function digestRead(ring: KeyRing, { table, order, lookup, conditions, by }: PagedRead, version: number): Uint8Array {
  const out = new ByteWriter(64)
  out.u8((order === 'asc' ? 0 : 1) + (conditions === undefined ? 0 : HAS_CONDITIONS) + (by === undefined ? 0 : HAS_COLUMN))
  if (by !== undefined) {
    out.u32(table.objectId)
    out.u32(by.objectId)
  }
  if (lookup !== undefined) out.u32(lookup.column.objectId)
  // Their order, and how often one is listed, do not matter to what is found.
  for (const key of [...new Set(conditions ?? lookup?.cells(version).map(keyOfCell))].sort()) {
    out.u32(key.length)
    out.utf8(key)
  }
  return digestItems(ring, SCOPE, toSlab([out.written()]), version)
}
