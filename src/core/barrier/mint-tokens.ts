/** Mints the tokens of records from token metadata and values, a slice of a list at a time: stored texts, encrypted pointers, and derived tokens. */
import { type KeyRing, POINTER_WORDS } from '../ports/crypto.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { writePointer } from '../sealing/envelope.ts'
import { required } from '../util/lists.ts'
import { fewNumbers } from '../util/memory.ts'
import { comparedText, digestValues } from './digest-values.ts'
import { encodeRecordIds, writeRecordPointers } from './record-ids.ts'
import { slotOf, type TokenMetadata } from './token-metadata.ts'

/** Tokens by column name: null for a value that is stored without one, because the format of its column refuses it. */
export type Tokens = { [column: string]: string | null }

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
  /** Returns the value of a cell, null or undefined if it has none. Called only for columns whose tokens are derived, or can be missing. */
  valueOf(row: number, column: Column): unknown
  /** Milliseconds since 1970. Tokens of expired values are left out. */
  readonly nowMs: number
  /** True for a cell whose stored token text must not be returned: it belongs to a value that the caller cannot see. */
  hides?(row: number, column: Column): boolean
}

/** Mints a slice at a time, because the tokens of many cells take long. */
export interface Minter {
  /** Mints those of the next rows, up to `SLICE_COST` and at least one. Returns false when all are minted. */
  mintSome(): boolean
  /** The records that are minted, in order. */
  readonly records: readonly StoredRecord[]
}

/** What a slice costs, in pointers. It takes a few milliseconds, and a thousand records with seven random tokens each are one. */
const SLICE_COST = 8192
/** What deriving a token costs: up to two encryptions of a number, where a pointer is one of many in a block. */
const DERIVED_COST = 8

/** Begins to mint the id of each written row and, if `input` is given, its tokens. Encrypts all pointers of a slice in one call. */
export function mintRecords(ring: KeyRing, table: Table, ids: readonly number[], input: MintInput | undefined): Minter {
  const rowsAtOnce = Math.max(1, Math.floor(SLICE_COST / (input === undefined ? 1 : 1 + costOf(table.tokenized))))
  const records: StoredRecord[] = []
  return {
    records,
    mintSome() {
      const from = records.length
      const to = Math.min(ids.length, from + rowsAtOnce)
      if (input === undefined) for (const id of encodeRecordIds(ring, table, ids.slice(from, to))) records.push({ id })
      else mintSlice(records, ring, table, { input, from, to })
      return to < ids.length
    },
  }
}

function costOf(columns: readonly Column[]): number {
  return columns.reduce((sum, { token }) => sum + (token?.keeps === 'nothing' ? DERIVED_COST : 1), 0)
}

/** The rows of an input from `from` to `to` (exclusive). */
interface Slice {
  readonly input: MintInput
  readonly from: number
  readonly to: number
}

/** Adds the records of a slice. */
function mintSlice(records: StoredRecord[], ring: KeyRing, table: Table, slice: Slice): void {
  const { input, from, to } = slice
  const words = fewNumbers((to - from + countPointers(table.tokenized, slice)) * POINTER_WORDS)
  writeRecordPointers(words, table, input.ids.slice(from, to))
  writePointers(words, to - from, table.tokenized, slice)
  const texts = ring.encryptPointers(ring.lookupVersion, words)
  const tokens = gatherTokens(ring, table.tokenized, slice, texts.slice(to - from))
  for (let index = 0; index < tokens.length; index++)
    records.push({ ...NO_MEMBERS, id: required(texts[index]), tokens: required(tokens[index]) })
}

/** Returns the tokens of each row, in order, for the columns that have one. */
export function mintTokens(ring: KeyRing, columns: readonly Column[], input: MintInput): Tokens[] {
  const all = { input, from: 0, to: input.ids.length }
  const words = fewNumbers(countPointers(columns, all) * POINTER_WORDS)
  writePointers(words, 0, columns, all)
  return gatherTokens(ring, columns, all, ring.encryptPointers(ring.lookupVersion, words))
}

/** A column, and the derived token of its value in each row of a slice. */
interface MintedColumn {
  readonly column: Column
  readonly derived: readonly (string | undefined)[] | undefined
}

/** Collects the tokens of each row. `pointers` has encrypted pointers in the order of `writePointers`. */
function gatherTokens(ring: KeyRing, columns: readonly Column[], slice: Slice, pointers: readonly string[]): Tokens[] {
  const { input, from, to } = slice
  const minted = columns.map((column): MintedColumn => {
    return { column, derived: column.token?.keeps === 'nothing' ? deriveTexts(ring, column, slice) : undefined }
  })
  const gathered: Tokens[] = new Array(to - from)
  let next = 0
  for (let row = from; row < to; row++) {
    const tokens: Tokens = {}
    for (const { column, derived } of minted) {
      const slot = slotOf(input.metadata, row, column)
      let text: string | undefined
      if (isPointer(input, slot)) text = required(pointers[next++], 'An encrypted pointer')
      else if (!isExpired(input, slot)) text = storedText(input, slot, { row, column }) ?? derived?.[row - from]
      if (text !== undefined) tokens[column.name] = text
      else if (column.mayLackToken && lacksToken(input, row, column)) tokens[column.name] = null
    }
    gathered[row - from] = tokens
  }
  return gathered
}

/** True for a cell with a value that is stored without a token. */
function lacksToken(input: MintInput, row: number, column: Column): boolean {
  return input.metadata.texts[slotOf(input.metadata, row, column)] === undefined && (input.valueOf(row, column) ?? null) !== null
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

function countPointers(columns: readonly Column[], { input, from, to }: Slice): number {
  let count = 0
  for (let row = from; row < to; row++) {
    for (const column of columns) if (isPointer(input, slotOf(input.metadata, row, column))) count++
  }
  return count
}

/** Writes the pointers of all cells that have one, row by row, from index `first`. */
function writePointers(words: Uint32Array, first: number, columns: readonly Column[], { input, from, to }: Slice): void {
  const { ids, metadata } = input
  let next = first
  for (let row = from; row < to; row++) {
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

/** Returns the derived token of one column for each row of a slice, in order. Cells that store a text have none. */
function deriveTexts(ring: KeyRing, column: Column, { input, from, to }: Slice): readonly (string | undefined)[] {
  const { metadata } = input
  const rows: number[] = []
  const values: unknown[] = []
  for (let row = from; row < to; row++) {
    const value = input.valueOf(row, column)
    if (value === undefined || value === null || metadata.texts[slotOf(metadata, row, column)] !== undefined) continue
    rows.push(row - from)
    values.push(value)
  }
  const texts = deriveTokens(ring, column, values)
  if (texts.length === to - from) return texts
  const byRow: (string | undefined)[] = new Array(to - from).fill(undefined)
  for (let k = 0; k < rows.length; k++) byRow[required(rows[k])] = texts[k]
  return byRow
}

/** Returns the derived token of each value, in order; undefined for a value that the format of the column refuses. The token kind of the column stores nothing. */
export function deriveTokens(
  ring: KeyRing,
  column: Column,
  values: readonly unknown[],
  version = ring.lookupVersion,
): (string | undefined)[] {
  const from = {
    digests: () => digestValues(ring, column, values, version),
    texts: () => values.map((value) => comparedText(column, value)),
  }
  const kind = required(column.token, 'The token kind of a tokenized column')
  return kind.derive({ ring, version, scope: column.scope, format: column.format }, from)
}

function isExpired({ metadata, nowMs }: MintInput, slot: number): boolean {
  const transientRef = metadata.transientRefs[slot]
  return transientRef !== undefined && transientRef.expiresAt <= nowMs
}
