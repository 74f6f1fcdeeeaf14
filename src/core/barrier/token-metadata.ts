/** The marks of a list of rows: what tokenized cells keep so that a token can be told, and proven, to be theirs. */
import type { Entropy } from '../ports/entropy.ts'
import type { Column, Table } from '../schema/layout.ts'
import { TOKEN_CHECK_BYTES, TOKEN_CHECK_HIGH_MASK } from '../sealing/cell-layout.ts'
import { readU32 } from '../util/bytes.ts'
import type { Values } from './parse-record.ts'

/** Where a transient value lives, and until when, in milliseconds since 1970. */
export interface TransientRef {
  readonly row: number
  readonly expiresAt: number
}

/** One slot for each row and tokenized column: a stamp, a text or neither, and a ticket where the value lives apart. */
export interface TokenMetadata {
  readonly width: number
  readonly hasCheck: Uint8Array
  readonly high: Uint32Array
  readonly low: Uint32Array
  readonly texts: (string | undefined)[]
  /** A 1 for each text that the caller brought. */
  readonly isSupplied: Uint8Array
  readonly transientRefs: (TransientRef | undefined)[]
}

/** Texts of tokens by row and column name: brought by the caller, or drawn in a format. */
export type TokensByRow = readonly (ReadonlyMap<string, string> | undefined)[]

/** Slots for this many rows, none of them filled. */
export function createTokenMetadata(table: Table, rows: number): TokenMetadata {
  const slots = rows * table.tokenized.length
  return {
    width: table.tokenized.length,
    hasCheck: new Uint8Array(slots),
    high: new Uint32Array(slots),
    low: new Uint32Array(slots),
    texts: new Array(slots).fill(undefined),
    isSupplied: new Uint8Array(slots),
    transientRefs: new Array(slots).fill(undefined),
  }
}

/** Where the mark of this row's cell stands. */
export function slotOf(metadata: TokenMetadata, row: number, column: Column): number {
  return row * metadata.width + column.tokenPosition
}

/** What marks are drawn from: texts that cells are to have, ids for values that live apart, and the time in milliseconds. */
export interface TokenSources {
  readonly texts: TokensByRow
  /** Which of the texts the caller brought. */
  readonly supplied: TokensByRow
  readonly transientIds: readonly number[]
  readonly nowMs: number
}

/** Marks every tokenized cell that is given a value. */
export function drawTokenMetadata(
  entropy: Entropy,
  table: Table,
  records: readonly Values[],
  sources: TokenSources,
): TokenMetadata {
  const metadata = createTokenMetadata(table, records.length)
  if (metadata.width === 0) return metadata
  const luck = entropy.bytes(records.length * TOKEN_CHECK_BYTES)
  let nextTransient = 0
  for (let row = 0; row < records.length; row++) {
    const values = records[row] ?? []
    for (const column of table.tokenized) {
      const value = values[column.position]
      if (value === undefined || value === null) continue
      const slot = slotOf(metadata, row, column)
      drawColumnMetadata(metadata, column, { slot, row, luck, sources })
      if (column.token?.expires !== true) continue
      metadata.transientRefs[slot] = {
        row: sources.transientIds[nextTransient++] ?? 0,
        expiresAt: sources.nowMs + column.lifetime,
      }
    }
  }
  return metadata
}

interface Draw {
  readonly slot: number
  readonly row: number
  /** One stamp for each row. */
  readonly luck: Uint8Array
  readonly sources: TokenSources
}

/** Gives a slot its text where it has one, else its row's stamp where its kind keeps one. */
function drawColumnMetadata(metadata: TokenMetadata, column: Column, { slot, row, luck, sources }: Draw): void {
  const text = sources.texts[row]?.get(column.name)
  if (text !== undefined) {
    metadata.texts[slot] = text
    metadata.isSupplied[slot] = sources.supplied[row]?.has(column.name) === true ? 1 : 0
  }
  if (text === undefined && column.token?.keeps === 'check') setTokenCheck(metadata, slot, luck, row * TOKEN_CHECK_BYTES)
}

/** How many values of these records live apart. */
export function countTransients(table: Table, records: readonly Values[]): number {
  let count = 0
  for (const column of table.transient) for (const values of records) if ((values[column.position] ?? null) !== null) count++
  return count
}

/** Reads a stamp from bytes into a slot. */
export function setTokenCheck(metadata: TokenMetadata, slot: number, bytes: Uint8Array, at: number): void {
  metadata.hasCheck[slot] = 1
  metadata.high[slot] = readU32(bytes, at) & TOKEN_CHECK_HIGH_MASK
  metadata.low[slot] = readU32(bytes, at + 4)
}

/** A slot of this row that holds its stamp; undefined where none of its cells has one. */
export function checkedSlot(metadata: TokenMetadata, row: number): number | undefined {
  const first = row * metadata.width
  for (let slot = first; slot < first + metadata.width; slot++) if (metadata.hasCheck[slot] === 1) return slot
  return undefined
}
