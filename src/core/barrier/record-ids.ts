/** Row positions to public record ids and back, a whole list in one call. */
import type { KeyRing } from '../ports/keys.ts'
import { POINTER_WORDS } from '../ports/keys.ts'
import type { Table } from '../schema/layout.ts'
import { readPointer, writePointer } from '../sealing/pointer.ts'

/** The public ids of rows. */
export function encodeRecordIds(ring: KeyRing, table: Pick<Table, 'objectId'>, ids: readonly number[]): string[] {
  const words = new Uint32Array(ids.length * POINTER_WORDS)
  for (let i = 0; i < ids.length; i++) {
    writePointer(words, i, { objectId: table.objectId, row: ids[i] ?? 0, checkHigh: 0, checkLow: 0 })
  }
  return ring.encryptPointers(words)
}

/** Space of audit events in pointers: no table of a schema has it. */
const EVENT_OBJECT_ID = 0

/** The public ids of audit events. */
export function encodeChangeIds(ring: KeyRing, rows: readonly number[]): string[] {
  return encodeRecordIds(ring, { objectId: EVENT_OBJECT_ID }, rows)
}

/** The row of the event each id names; undefined for a text that names none. */
export function decodeChangeIds(ring: KeyRing, texts: readonly string[]): (number | undefined)[] {
  return decodeRecordIds(ring, { objectId: EVENT_OBJECT_ID }, texts)
}

/** The row each public id of this table names; undefined for a text that names none. */
export function decodeRecordIds(ring: KeyRing, table: Pick<Table, 'objectId'>, texts: readonly string[]): (number | undefined)[] {
  const { words, wellFormed } = ring.decryptPointers(texts)
  return texts.map((_, index) => {
    const { objectId, row, checkHigh, checkLow } = readPointer(words, index)
    const isOurs = wellFormed[index] === 1 && objectId === table.objectId && checkHigh === 0 && checkLow === 0
    return isOurs ? row : undefined
  })
}
