/** Mints the tokens of records from token metadata and values, a list at a time: stored texts, encrypted pointers, and derived tokens. */
import type { KeyRing } from '../ports/keys.ts'
import { POINTER_WORDS } from '../ports/keys.ts'
import type { Column, Table } from '../schema/layout.ts'
import { writePointer } from '../sealing/pointer.ts'
import { required } from '../util/at.ts'
import { comparedText, digestValues } from './digest-values.ts'
import { encodeRecordIds, writeRecordPointers } from './record-ids.ts'
import type { TokenMetadata } from './token-metadata.ts'
import { slotOf } from './token-metadata.ts'

/** Tokens by column name. */
export type Tokens = { [column: string]: string }

/**
 * Records begin as a copy of this. Of an object literal V8 counts how many live until the next collection, which are all while a commit is
 * waited for. It then makes them among its old objects, where they and their tokens stay until the whole heap is marked.
 */
const NO_MEMBERS = {}

/** A stored record as the caller sees it. */
export interface StoredRecord {
  readonly id: string
  readonly tokens?: Tokens
}

/** Rows to mint tokens for. */
export interface MintInput {
  readonly ids: readonly number[]
  readonly metadata: TokenMetadata
  /** Returns the value of a cell, null or undefined if it has none. Called only for columns whose tokens are derived. */
  valueOf(row: number, column: Column): unknown
  /** Milliseconds since 1970. Tokens of expired values are left out. */
  readonly nowMs: number
  /** True for a cell whose stored token text must not be returned: it belongs to a value that the caller cannot see. */
  hides?(row: number, column: Column): boolean
}

/** Returns the id of each written row and, if `input` is given, its tokens, in order. Encrypts all pointers in one call. */
export function mintRecords(ring: KeyRing, table: Table, ids: readonly number[], input: MintInput | undefined): StoredRecord[] {
  if (input === undefined) return encodeRecordIds(ring, table, ids).map((id) => ({ id }))
  const words = new Uint32Array((ids.length + countPointers(table.tokenized, input)) * POINTER_WORDS)
  writeRecordPointers(words, table, ids)
  writePointers(words, ids.length, table.tokenized, input)
  const texts = ring.encryptPointers(ring.lookupVersion, words)
  const tokens = gatherTokens(ring, table.tokenized, input, texts.slice(ids.length))
  return tokens.map((one, index) => ({ ...NO_MEMBERS, id: required(texts[index]), tokens: one }))
}

/** Returns the tokens of each row, in order, for the columns that have one. */
export function mintTokens(ring: KeyRing, columns: readonly Column[], input: MintInput): Tokens[] {
  const words = new Uint32Array(countPointers(columns, input) * POINTER_WORDS)
  writePointers(words, 0, columns, input)
  return gatherTokens(ring, columns, input, ring.encryptPointers(ring.lookupVersion, words))
}

/** A column, and the derived token of its value in each row. */
interface MintedColumn {
  readonly column: Column
  readonly derived: readonly (string | undefined)[] | undefined
}

/** Collects the tokens of each row. `pointers` has encrypted pointers in the order of `writePointers`. */
function gatherTokens(ring: KeyRing, columns: readonly Column[], input: MintInput, pointers: readonly string[]): Tokens[] {
  const minted = columns.map((column): MintedColumn => {
    return { column, derived: column.token?.keeps === 'nothing' ? deriveTexts(ring, column, input) : undefined }
  })
  const gathered: Tokens[] = new Array(input.ids.length)
  let next = 0
  for (let row = 0; row < gathered.length; row++) {
    const tokens: Tokens = {}
    for (const { column, derived } of minted) {
      const slot = slotOf(input.metadata, row, column)
      let text: string | undefined
      if (isPointer(input, slot)) text = required(pointers[next++], 'An encrypted pointer')
      else if (!isExpired(input, slot)) text = storedText(input, slot, { row, column }) ?? derived?.[row]
      if (text !== undefined) tokens[column.name] = text
    }
    gathered[row] = tokens
  }
  return gathered
}

/** Returns the token text that a cell stores; undefined if it stores none, or if the caller must not see it. */
function storedText(
  { metadata, hides }: MintInput,
  slot: number,
  { row, column }: { readonly row: number; readonly column: Column },
): string | undefined {
  const text = metadata.texts[slot]
  return text !== undefined && hides?.(row, column) === true ? undefined : text
}

function countPointers(columns: readonly Column[], input: MintInput): number {
  let count = 0
  for (let row = 0; row < input.ids.length; row++) {
    for (const column of columns) if (isPointer(input, slotOf(input.metadata, row, column))) count++
  }
  return count
}

/** Writes the pointers of all cells that have one, row by row, from index `first`. */
function writePointers(words: Uint32Array, first: number, columns: readonly Column[], input: MintInput): void {
  const { ids, metadata } = input
  let next = first
  for (let row = 0; row < ids.length; row++) {
    const id = required(ids[row], 'A row id')
    for (const column of columns) {
      const slot = slotOf(metadata, row, column)
      if (!isPointer(input, slot)) continue
      writePointer(words, next++, {
        objectId: column.objectId,
        row: metadata.transientRefs[slot]?.row ?? id,
        checkHigh: required(metadata.high[slot], 'A token check'),
        checkLow: required(metadata.low[slot], 'A token check'),
      })
    }
  }
}

/** True for a cell whose token is a pointer, unless its value has expired. */
function isPointer(input: MintInput, slot: number): boolean {
  const { hasCheck, texts } = input.metadata
  return hasCheck[slot] === 1 && texts[slot] === undefined && !isExpired(input, slot)
}

/** Returns the derived token of one column for each row, in order. Cells that store a text have none. */
function deriveTexts(ring: KeyRing, column: Column, input: MintInput): readonly (string | undefined)[] {
  const { ids, metadata } = input
  const rows: number[] = []
  const values: unknown[] = []
  for (let row = 0; row < ids.length; row++) {
    const value = input.valueOf(row, column)
    if (value === undefined || value === null || metadata.texts[slotOf(metadata, row, column)] !== undefined) continue
    rows.push(row)
    values.push(value)
  }
  const texts = deriveTokens(ring, column, values)
  if (texts.length === ids.length) return texts
  const byRow: (string | undefined)[] = new Array(ids.length).fill(undefined)
  for (let k = 0; k < rows.length; k++) byRow[required(rows[k])] = required(texts[k])
  return byRow
}

/** Returns the derived token of each value, in order. The token kind of the column stores nothing. */
export function deriveTokens(ring: KeyRing, column: Column, values: readonly unknown[]): string[] {
  const from = {
    digests: () => digestValues(ring, column, values),
    texts: () => values.map((value) => comparedText(column, value)),
  }
  const kind = required(column.token, 'The token kind of a tokenized column')
  return kind.derive({ ring, scope: column.scope, format: column.format }, from)
}

function isExpired({ metadata, nowMs }: MintInput, slot: number): boolean {
  const transientRef = metadata.transientRefs[slot]
  return transientRef !== undefined && transientRef.expiresAt <= nowMs
}
