/** Marks and values to the texts of tokens, each column by its kind, a whole list at a time. */
import type { KeyRing } from '../ports/keys.ts'
import { POINTER_WORDS } from '../ports/keys.ts'
import type { Column, Table } from '../schema/layout.ts'
import { writePointer } from '../sealing/pointer.ts'
import { comparedText, digestValues } from './digest-values.ts'
import { encodeRecordIds } from './record-ids.ts'
import type { TokenMetadata } from './token-metadata.ts'
import { slotOf } from './token-metadata.ts'

/** Tokens by column name. */
export type Tokens = { [column: string]: string }

/** One stored record as its caller learns of it. */
export interface StoredRecord {
  readonly id: string
  readonly tokens?: Tokens
}

/** Rows whose tokens are wanted. */
export interface MintInput {
  readonly ids: readonly number[]
  readonly metadata: TokenMetadata
  /** The value of a cell, null or undefined where it has none. Asked for kinds that keep nothing. */
  valueOf(row: number, column: Column): unknown
  /** In milliseconds: tokens of values that have expired are left out. */
  readonly nowMs: number
  /** True for a cell whose kept text is not to be told: its token was made by somebody else, of a value its reader may not see. */
  hides?(row: number, column: Column): boolean
}

/** Ids of rows just written and, where they are wanted, their tokens: all pointers disguised in one call. */
export function mintRecords(ring: KeyRing, table: Table, ids: readonly number[], wanted: MintInput | undefined): StoredRecord[] {
  if (wanted === undefined) return encodeRecordIds(ring, table, ids).map((id) => ({ id }))
  const words = new Uint32Array((ids.length + countPointers(table.tokenized, wanted)) * POINTER_WORDS)
  for (let i = 0; i < ids.length; i++)
    writePointer(words, i, { objectId: table.objectId, row: ids[i] ?? 0, checkHigh: 0, checkLow: 0 })
  writePointers(words, ids.length, table.tokenized, wanted)
  const texts = ring.encryptPointers(words)
  const tokens = gatherTokens(ring, table.tokenized, wanted, texts.slice(ids.length))
  return tokens.map((one, index) => ({ id: texts[index] ?? '', tokens: one }))
}

/** The tokens of each row, for those of the columns that have one. */
export function mintTokens(ring: KeyRing, columns: readonly Column[], mintInput: MintInput): Tokens[] {
  const words = new Uint32Array(countPointers(columns, mintInput) * POINTER_WORDS)
  writePointers(words, 0, columns, mintInput)
  return gatherTokens(ring, columns, mintInput, ring.encryptPointers(words))
}

/** Texts kept, pointers disguised and tokens derived, each in its place; `pointers` in the order of `writePointers`. */
function gatherTokens(ring: KeyRing, columns: readonly Column[], mintInput: MintInput, pointers: readonly string[]): Tokens[] {
  const derived = columns.map((column) => (column.token?.keeps === 'nothing' ? deriveTexts(ring, column, mintInput) : undefined))
  const gathered: Tokens[] = new Array(mintInput.ids.length)
  let next = 0
  for (let row = 0; row < gathered.length; row++) {
    const tokens: Tokens = {}
    for (let k = 0; k < columns.length; k++) {
      const column = columns[k]
      if (column === undefined) continue
      const slot = slotOf(mintInput.metadata, row, column)
      const text = isPointer(mintInput, slot)
        ? pointers[next++]
        : isExpired(mintInput, slot)
          ? undefined
          : (keptText(mintInput, slot, { row, column }) ?? derived[k]?.get(row))
      if (text !== undefined) tokens[column.name] = text
    }
    gathered[row] = tokens
  }
  return gathered
}

/** The text a cell keeps, where it may be told. */
function keptText(
  { metadata, hides }: MintInput,
  slot: number,
  { row, column }: { readonly row: number; readonly column: Column },
): string | undefined {
  return metadata.texts[slot] !== undefined && hides?.(row, column) === true ? undefined : metadata.texts[slot]
}

function countPointers(columns: readonly Column[], mintInput: MintInput): number {
  let count = 0
  for (let row = 0; row < mintInput.ids.length; row++) {
    for (const column of columns) if (isPointer(mintInput, slotOf(mintInput.metadata, row, column))) count++
  }
  return count
}

/** Writes the pointers of all cells that have one, row by row. */
function writePointers(words: Uint32Array, first: number, columns: readonly Column[], mintInput: MintInput): void {
  const { ids, metadata } = mintInput
  let next = first
  for (let row = 0; row < ids.length; row++) {
    for (const column of columns) {
      const slot = slotOf(metadata, row, column)
      if (!isPointer(mintInput, slot)) continue
      writePointer(words, next++, {
        objectId: column.objectId,
        row: metadata.transientRefs[slot]?.row ?? ids[row] ?? 0,
        checkHigh: metadata.high[slot] ?? 0,
        checkLow: metadata.low[slot] ?? 0,
      })
    }
  }
}

/** True for a cell whose token is a pointer that still leads somewhere. */
function isPointer(mintInput: MintInput, slot: number): boolean {
  return mintInput.metadata.hasCheck[slot] === 1 && mintInput.metadata.texts[slot] === undefined && !isExpired(mintInput, slot)
}

/** The derived tokens of one column, by row. */
function deriveTexts(ring: KeyRing, column: Column, mintInput: MintInput): Map<number, string> {
  const rows: number[] = []
  const values: unknown[] = []
  for (let row = 0; row < mintInput.ids.length; row++) {
    const value = mintInput.valueOf(row, column)
    if (value === undefined || value === null || mintInput.metadata.texts[slotOf(mintInput.metadata, row, column)] !== undefined)
      continue
    rows.push(row)
    values.push(value)
  }
  const texts = deriveTokens(ring, column, values)
  return new Map(rows.map((row, index) => [row, texts[index] ?? '']))
}

/** The derived token of each value of a column whose kind keeps nothing. */
export function deriveTokens(ring: KeyRing, column: Column, values: readonly unknown[]): string[] {
  const digests = digestValues(ring, column, values)
  const from = values.map((value, index) => ({ digest: digests[index] ?? new Uint8Array(), text: comparedText(column, value) }))
  return column.token?.derive({ ring, scope: column.scope, format: column.format }, from) ?? []
}

function isExpired({ metadata, nowMs }: MintInput, slot: number): boolean {
  const transientRef = metadata.transientRefs[slot]
  return transientRef !== undefined && transientRef.expiresAt <= nowMs
}
