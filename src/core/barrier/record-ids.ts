/** Encodes row ids as public record ids, and decodes them, a list at a time. */
import { type KeyRing, POINTER_WORDS } from '../ports/crypto.ts'
import type { Row } from '../ports/storage.ts'
import type { Table } from '../schema/layout.ts'
import { readPointer, toUuidTexts, writePointer } from '../sealing/pointer.ts'
import { required } from '../util/lists.ts'
import { fewNumbers } from '../util/memory.ts'

/** Returns the public id of each row of a table, in order: a UUID, version 4. */
export function encodeRecordIds(ring: KeyRing, table: Pick<Table, 'objectId'>, ids: readonly number[]): string[] {
  const words = fewNumbers(ids.length * POINTER_WORDS)
  writeRecordPointers(words, table, ids)
  return ring.encryptPointers(ring.lookupVersion, words)
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
  const { words, wellFormed } = ring.decryptPointers(ring.lookupVersion, toUuidTexts(texts))
  return texts.map((_, index) => {
    const { objectId, row, checkHigh, checkLow } = readPointer(words, index)
    const version = checkHigh * HIGH_UNIT + checkLow
    return wellFormed[index] === 1 && objectId === table.objectId && version > 0 ? { id: row, version } : undefined
  })
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
  const { words, wellFormed } = ring.decryptPointers(ring.lookupVersion, toUuidTexts(texts))
  const rows: (number | undefined)[] = new Array(texts.length)
  for (let i = 0; i < texts.length; i++) {
    const { objectId, row, checkHigh, checkLow } = readPointer(words, i)
    const isOurs = wellFormed[i] === 1 && objectId === table.objectId && checkHigh === 0 && checkLow === 0
    rows[i] = isOurs ? row : undefined
  }
  return rows
}
