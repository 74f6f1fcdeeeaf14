/** Encodes row ids as public record ids, and decodes them, a list at a time. */
import type { KeyRing } from '../ports/keys.ts'
import { POINTER_WORDS } from '../ports/keys.ts'
import type { Table } from '../schema/layout.ts'
import { readPointer, toUuidTexts, writePointer } from '../sealing/pointer.ts'
import { required } from '../util/at.ts'
import { fewNumbers } from '../util/few-bytes.ts'

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
