/** The stamps of a list of rows: what proves that a token still stands for the value it was made for. */
import type { Entropy } from '../ports/entropy.ts'
import type { Column, Table } from '../schema/layout.ts'
import { STAMP_BYTES, STAMP_HIGH_MASK } from '../sealing/cell-layout.ts'
import { readU32 } from '../util/bytes.ts'
import type { Values } from './parse-record.ts'

/** One slot for each row and tokenized column: row * width + column.tokenPosition. */
export interface Stamps {
  readonly width: number
  readonly has: Uint8Array
  readonly high: Uint32Array
  readonly low: Uint32Array
}

/** Slots for this many rows, none of them filled. */
export function createStamps(table: Table, rows: number): Stamps {
  const slots = rows * table.tokenized.length
  return { width: table.tokenized.length, has: new Uint8Array(slots), high: new Uint32Array(slots), low: new Uint32Array(slots) }
}

/** Draws one stamp for each row and gives it to every tokenized column that is given a value. */
export function drawStamps(entropy: Entropy, table: Table, records: readonly Values[]): Stamps {
  const stamps = createStamps(table, records.length)
  if (stamps.width === 0) return stamps
  const luck = entropy.bytes(records.length * STAMP_BYTES)
  for (let row = 0; row < records.length; row++) {
    const high = readU32(luck, row * STAMP_BYTES) & STAMP_HIGH_MASK
    const low = readU32(luck, row * STAMP_BYTES + 4)
    const values = records[row] ?? []
    for (const column of table.tokenized) {
      const value = values[column.position]
      if (value === undefined || value === null) continue
      const slot = slotOf(stamps, row, column)
      stamps.has[slot] = 1
      stamps.high[slot] = high
      stamps.low[slot] = low
    }
  }
  return stamps
}

/** A slot of this row that holds its stamp; undefined where none of its cells has one. */
export function stampedSlot(stamps: Stamps, row: number): number | undefined {
  const first = row * stamps.width
  for (let slot = first; slot < first + stamps.width; slot++) if (stamps.has[slot] === 1) return slot
  return undefined
}

/** Where the stamp of this row's cell stands. */
export function slotOf(stamps: Stamps, row: number, column: Column): number {
  return row * stamps.width + column.tokenPosition
}
