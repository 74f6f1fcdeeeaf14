/** The marks of a list of rows: what tokenized cells keep so that a token can be told, and proven, to be theirs. */
import type { Entropy } from '../ports/entropy.ts'
import type { Column, Table } from '../schema/layout.ts'
import { STAMP_BYTES, STAMP_HIGH_MASK } from '../sealing/cell-layout.ts'
import { readU32 } from '../util/bytes.ts'
import type { Values } from './parse-record.ts'

/** Where a transient value lives, and until when, in milliseconds since 1970. */
export interface Ticket {
  readonly row: number
  readonly expiresAt: number
}

/** One slot for each row and tokenized column: a stamp, a text or neither, and a ticket where the value lives apart. */
export interface Marks {
  readonly width: number
  readonly hasStamp: Uint8Array
  readonly high: Uint32Array
  readonly low: Uint32Array
  readonly texts: (string | undefined)[]
  /** A 1 for each text that the caller brought. */
  readonly isBrought: Uint8Array
  readonly tickets: (Ticket | undefined)[]
}

/** Texts of tokens by row and column name: brought by the caller, or drawn in a format. */
export type TokenTexts = readonly (ReadonlyMap<string, string> | undefined)[]

/** Slots for this many rows, none of them filled. */
export function createMarks(table: Table, rows: number): Marks {
  const slots = rows * table.tokenized.length
  return {
    width: table.tokenized.length,
    hasStamp: new Uint8Array(slots),
    high: new Uint32Array(slots),
    low: new Uint32Array(slots),
    texts: new Array(slots).fill(undefined),
    isBrought: new Uint8Array(slots),
    tickets: new Array(slots).fill(undefined),
  }
}

/** Where the mark of this row's cell stands. */
export function slotOf(marks: Marks, row: number, column: Column): number {
  return row * marks.width + column.tokenPosition
}

/** What marks are drawn from: texts that cells are to have, ids for values that live apart, and the time in milliseconds. */
export interface MarkSources {
  readonly texts: TokenTexts
  /** Which of the texts the caller brought. */
  readonly brought: TokenTexts
  readonly transientIds: readonly number[]
  readonly nowMs: number
}

/** Marks every tokenized cell that is given a value. */
export function drawMarks(entropy: Entropy, table: Table, records: readonly Values[], sources: MarkSources): Marks {
  const marks = createMarks(table, records.length)
  if (marks.width === 0) return marks
  const luck = entropy.bytes(records.length * STAMP_BYTES)
  let nextTransient = 0
  for (let row = 0; row < records.length; row++) {
    const values = records[row] ?? []
    for (const column of table.tokenized) {
      const value = values[column.position]
      if (value === undefined || value === null) continue
      const slot = slotOf(marks, row, column)
      drawMark(marks, column, { slot, row, luck, sources })
      if (column.token?.expires !== true) continue
      marks.tickets[slot] = { row: sources.transientIds[nextTransient++] ?? 0, expiresAt: sources.nowMs + column.lifetime }
    }
  }
  return marks
}

interface Draw {
  readonly slot: number
  readonly row: number
  /** One stamp for each row. */
  readonly luck: Uint8Array
  readonly sources: MarkSources
}

/** Gives a slot its text where it has one, else its row's stamp where its kind keeps one. */
function drawMark(marks: Marks, column: Column, { slot, row, luck, sources }: Draw): void {
  const text = sources.texts[row]?.get(column.name)
  if (text !== undefined) {
    marks.texts[slot] = text
    marks.isBrought[slot] = sources.brought[row]?.has(column.name) === true ? 1 : 0
  }
  if (text === undefined && column.token?.keeps === 'stamp') setStamp(marks, slot, luck, row * STAMP_BYTES)
}

/** How many values of these records live apart. */
export function countTransients(table: Table, records: readonly Values[]): number {
  let count = 0
  for (const column of table.transient) for (const values of records) if ((values[column.position] ?? null) !== null) count++
  return count
}

/** Reads a stamp from bytes into a slot. */
export function setStamp(marks: Marks, slot: number, bytes: Uint8Array, at: number): void {
  marks.hasStamp[slot] = 1
  marks.high[slot] = readU32(bytes, at) & STAMP_HIGH_MASK
  marks.low[slot] = readU32(bytes, at + 4)
}

/** A slot of this row that holds its stamp; undefined where none of its cells has one. */
export function stampedSlot(marks: Marks, row: number): number | undefined {
  const first = row * marks.width
  for (let slot = first; slot < first + marks.width; slot++) if (marks.hasStamp[slot] === 1) return slot
  return undefined
}
