/** Row positions to public record ids and back, a whole list in one call. */
import type { KeyRing } from '../ports/keys.ts'
import { POINTER_WORDS } from '../ports/keys.ts'
import type { Table } from '../schema/layout.ts'
import { readPointer, writePointer } from '../sealing/pointer.ts'

/** The public ids of rows. */
export function mintIds(ring: KeyRing, table: Pick<Table, 'space'>, ids: readonly number[]): string[] {
  const words = new Uint32Array(ids.length * POINTER_WORDS)
  for (let i = 0; i < ids.length; i++) {
    writePointer(words, i, { space: table.space, row: ids[i] ?? 0, checkHigh: 0, checkLow: 0 })
  }
  return ring.disguise(words)
}

/** Space of audit events in pointers: no table of a schema has it. */
const EVENT_SPACE = 0

/** The public ids of audit events. */
export function mintChangeIds(ring: KeyRing, rows: readonly number[]): string[] {
  return mintIds(ring, { space: EVENT_SPACE }, rows)
}

/** The row of the event each id names; undefined for a text that names none. */
export function readChangeIds(ring: KeyRing, texts: readonly string[]): (number | undefined)[] {
  return readIds(ring, { space: EVENT_SPACE }, texts)
}

/** The row each public id of this table names; undefined for a text that names none. */
export function readIds(ring: KeyRing, table: Pick<Table, 'space'>, texts: readonly string[]): (number | undefined)[] {
  const { words, wellFormed } = ring.undisguise(texts)
  return texts.map((_, index) => {
    const { space, row, checkHigh, checkLow } = readPointer(words, index)
    const isOurs = wellFormed[index] === 1 && space === table.space && checkHigh === 0 && checkLow === 0
    return isOurs ? row : undefined
  })
}
