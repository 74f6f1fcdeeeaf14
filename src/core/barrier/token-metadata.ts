/** Token metadata of a list of rows: what tokenized cells store, so that tokens can be minted and verified. */
import type { Entropy } from '../ports/crypto.ts'
import type { Row } from '../ports/storage.ts'
import type { RedactionLevel } from '../redaction.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { TOKEN_CHECK_BYTES, TOKEN_CHECK_HIGH_MASK } from '../sealing/cell-layout.ts'
import { type ByteWriter, readU32 } from '../util/bytes.ts'
import { required } from '../util/lists.ts'
import type { Values } from './parse-record.ts'

/** The row of a transient value, and its expiry in milliseconds since 1970. */
export interface TransientRef {
  readonly row: number
  readonly expiresAt: number
}

/** One slot for each row and tokenized column: a token check, a text or neither, and a reference if the value is transient. */
export interface TokenMetadata {
  /** Number of tokenized columns: the slots of one row. */
  readonly width: number
  /** 1 for each slot with a token check. */
  readonly hasCheck: Uint8Array
  /** The high words of the token checks. */
  readonly high: Uint32Array
  /** The low words of the token checks. */
  readonly low: Uint32Array
  readonly texts: (string | undefined)[]
  /** 1 for each text that the caller supplied. */
  readonly isSupplied: Uint8Array
  readonly transientRefs: (TransientRef | undefined)[]
}

/** Token texts that the caller supplied, by row and column name. */
export type TokensByRow = readonly (ReadonlyMap<string, string> | undefined)[]

/** Returns the text of the token of a cell, supplied or drawn; undefined if it has none. */
export type TextOfToken = (row: number, column: Column) => string | undefined

/** Returns empty slots for `rows` rows. */
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

/** Returns the slot of a cell. */
export function slotOf(metadata: TokenMetadata, row: number, column: Column): number {
  return row * metadata.width + column.tokenPosition
}

/** Sources of the token metadata of new cells. */
export interface TokenSources {
  readonly textOf: TextOfToken
  /** The texts that the caller supplied. */
  readonly supplied: TokensByRow
  /** One row id for each transient value, in the order of the values. */
  readonly transientIds: readonly number[]
  /** Milliseconds since 1970. */
  readonly nowMs: number
  /** Absent for new records, and where every token is to be new. */
  readonly unchanged?: UnchangedCells
}

/** The level at which the caller can be shown the stored value of a column, in the row at this index; undefined if they cannot. */
export type LevelOf = (row: number, column: Column) => RedactionLevel | undefined

/**
 * What decides which tokens of existing rows a write keeps: those of cells whose value it does not change, where the caller reads that value in
 * plain text. For others a token that stays would show that their value is the stored one.
 */
export interface UnchangedCells {
  readonly levelOf: LevelOf
  /** 1 for each slot whose token is a text that stays, so that none is drawn. */
  readonly keepsText: Uint8Array
  /** The rows of the transient values that stay, by slot. */
  readonly transients: ReadonlyMap<number, Row>
}

/** Returns the metadata of every tokenized cell with a value. Throws `internal` if `transientIds` is too short. */
export function drawTokenMetadata(
  entropy: Entropy,
  table: Table,
  records: readonly Values[],
  sources: TokenSources,
): TokenMetadata {
  const metadata = createTokenMetadata(table, records.length)
  if (metadata.width === 0) return metadata
  const checks = entropy.bytes(records.length * TOKEN_CHECK_BYTES)
  let nextTransient = 0
  for (const [row, values] of records.entries()) {
    for (const column of table.tokenized) {
      const value = values[column.position]
      if (value === undefined || value === null) continue
      const slot = slotOf(metadata, row, column)
      drawColumnMetadata(metadata, column, { slot, row, checks, sources })
      if (column.token?.expires !== true) continue
      metadata.transientRefs[slot] = {
        row: required(sources.transientIds[nextTransient++], 'The row id of a transient value'),
        expiresAt: sources.nowMs + column.lifetime,
      }
    }
  }
  return metadata
}

interface CellToDraw {
  readonly slot: number
  readonly row: number
  /** Random bytes: one token check for each row. */
  readonly checks: Uint8Array
  readonly sources: TokenSources
}

/** Sets the text of a slot if there is one, else the token check of its row if the token kind stores one. */
function drawColumnMetadata(metadata: TokenMetadata, column: Column, { slot, row, checks, sources }: CellToDraw): void {
  const text = sources.textOf(row, column)
  if (text !== undefined) {
    metadata.texts[slot] = text
    metadata.isSupplied[slot] = sources.supplied[row]?.has(column.name) === true ? 1 : 0
  }
  if (text === undefined && column.token?.keeps === 'check') setTokenCheck(metadata, slot, checks, row * TOKEN_CHECK_BYTES)
}

/** Returns the number of transient values in these records. */
export function countTransients(table: Table, records: readonly Values[]): number {
  let count = 0
  for (const column of table.transient) for (const values of records) if ((values[column.position] ?? null) !== null) count++
  return count
}

/** Sets the token check of a slot from the bytes at `offset`. */
export function setTokenCheck(metadata: TokenMetadata, slot: number, bytes: Uint8Array, offset: number): void {
  metadata.hasCheck[slot] = 1
  metadata.high[slot] = readU32(bytes, offset) & TOKEN_CHECK_HIGH_MASK
  metadata.low[slot] = readU32(bytes, offset + TOKEN_CHECK_BYTES / 2)
}

/** Writes the two words of the token check of a slot. Throws `internal` for a slot beyond the metadata. */
export function writeTokenCheck(out: ByteWriter, metadata: TokenMetadata, slot: number): void {
  out.u32(required(metadata.high[slot], 'A token check'))
  out.u32(required(metadata.low[slot], 'A token check'))
}

/** Returns the first slot of a row that has a token check, undefined if none has. */
export function checkedSlot(metadata: TokenMetadata, row: number): number | undefined {
  const first = row * metadata.width
  for (let slot = first; slot < first + metadata.width; slot++) if (metadata.hasCheck[slot] === 1) return slot
  return undefined
}
