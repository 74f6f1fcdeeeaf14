/** Chooses the tokens of records to be written: supplied ones, and drawn ones for the other values. */

import { comparedText } from '../barrier/digest-values.ts'
import type { Values } from '../barrier/parse-record.ts'
import { cellDetail, inRecord, type RecordIndex } from '../barrier/record-errors.ts'
import type { TextOfToken, TokensByRow, UnchangedCells } from '../barrier/token-metadata.ts'
import { type Fault, fault, words } from '../errors.ts'
import type { StorageReads } from '../ports/storage.ts'
import type { Scheduler } from '../ports/time.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { drawRanks } from '../tokens/draw-ranks.ts'
import { TokenFormatError, type TokenRange } from '../tokens/token-format.ts'
import { at } from '../util/lists.ts'
import { resolveDerived } from './resolve-tokens.ts'
import { findTokens } from './token-store.ts'

/** Maximum number of draws for a token, before its neighbors are tried in order. */
const MAX_DRAWS = 32
/** Maximum number of neighbors tried, a slice at a time, before a format counts as exhausted. */
const MAX_NEIGHBORS = 10_000
const SLICE = 1_000
/** Number of cells whose tokens are drawn between two turns of the event loop. */
const CELLS_OF_TURN = 2_000

/**
 * Domains from this size on are too large for two equal draws to be likely: with a billion stored tokens, one of 280,000 draws is in
 * use. Such a draw is not looked up. If it is in use, storing it is a conflict, and the write runs again.
 */
const SPARSE_DOMAIN = 2n ** 48n

/** The values of each record, the tokens supplied with it, and its index in the request. The three lists have one length. */
export interface WriteRequest {
  readonly table: Table
  readonly records: readonly Values[]
  readonly supplied: TokensByRow
  readonly indexes: readonly RecordIndex[]
  /** Returns what is thrown in place of the `conflict` of a unique value that another record holds; undefined for the conflict itself. */
  readonly onValueTaken?: (conflict: unknown) => Error | undefined
}

/** A cell that needs a drawn token. */
interface Drawing {
  readonly row: number
  readonly column: Column
  readonly range: TokenRange
  text: string
}

/** The drawings of one request, and the texts that its other cells are supplied with. */
interface Drawings {
  readonly table: Table
  readonly all: readonly Drawing[]
  readonly supplied: readonly string[]
}

/** Records whose tokens are chosen, and the cells that keep theirs. */
export interface DrawRequest extends WriteRequest {
  readonly unchanged?: UnchangedCells | undefined
}

/**
 * Returns a function for the token texts of cells: the supplied ones, and a drawn one for each other value whose token kind stores
 * a text. Throws `unprocessable` for a value that does not fit its format, `tokens_exhausted` if no token is left. A supplied token in
 * use is a conflict of the table of tokens.
 */
export async function chooseTokens(storage: StorageReads, context: ReadingContext, request: DrawRequest): Promise<TextOfToken> {
  const { table, supplied } = request
  const drawings = await drawingsOf(context.scheduler, request)
  const suppliedText: TextOfToken = (row, { name }) => supplied[row]?.get(name)
  if (drawings.length === 0) return suppliedText
  await drawUnused(storage, context, { table, all: drawings, supplied: textsOf(supplied) })
  const width = table.tokenized.length
  const drawn: (string | undefined)[] = new Array(request.records.length * width).fill(undefined)
  for (const { row, column, text } of drawings) drawn[row * width + column.tokenPosition] = text
  return (row, column) => drawn[row * width + column.tokenPosition] ?? suppliedText(row, column)
}

/** Returns the cells that need a drawn token. Throws `unprocessable` for a value that cannot have a token. */
async function drawingsOf(
  scheduler: Scheduler,
  { table, records, supplied, indexes, unchanged }: DrawRequest,
): Promise<Drawing[]> {
  const formatted = table.tokenized.filter((column) => column.token?.hasFormat === true)
  const drawings: Drawing[] = []
  if (formatted.length === 0) return drawings
  const rowsOfTurn = Math.ceil(CELLS_OF_TURN / formatted.length)
  for (const [row, values] of records.entries()) {
    if (row > 0 && row % rowsOfTurn === 0) await scheduler.yield()
    for (const column of formatted) {
      const value = values[column.position]
      if (value === undefined || value === null) continue
      const range = rangeOf(table, column, { value, index: indexes[row] })
      const isGiven = supplied[row]?.has(column.name) === true
      const isKept = unchanged?.keepsText[row * table.tokenized.length + column.tokenPosition] === 1
      if (range !== undefined && !isGiven && !isKept) drawings.push({ row, column, range, text: '' })
    }
  }
  return drawings
}

/** Throws `unprocessable` for a value that cannot have a token of its column. */
export function assertFits(table: Table, column: Column, value: unknown): void {
  if (column.token !== undefined && value !== null && value !== undefined) rangeOf(table, column, { value, index: undefined })
}

/** Returns the tokens that a value can have; undefined if its token is derived, or if it has none. Throws `unprocessable` for a value that must have a token and cannot. */
function rangeOf(
  table: Table,
  column: Column,
  { value, index }: { readonly value: unknown; readonly index: RecordIndex },
): TokenRange | undefined {
  try {
    if (column.token?.keeps === 'text') return column.format?.rangeOf(column.type.toText(value))
    column.token?.assertValue(column.format, comparedText(column, value))
    return undefined
  } catch (error) {
    if (!(error instanceof TokenFormatError)) throw error
    if (column.mayLackToken) return undefined
    const detail = cellDetail(table, column, index)
    throw fault('unprocessable', detail)`Column ${column.name} of table ${table.name} ${words(error.message)}${inRecord(index)}.`
  }
}

function textsOf(supplied: TokensByRow): string[] {
  return supplied.flatMap((tokens) => [...(tokens?.values() ?? [])])
}

/** Draws until no drawn text is in use, neither in storage nor in this request. */
async function drawUnused(storage: StorageReads, context: ReadingContext, drawings: Drawings): Promise<void> {
  const taken = new Set(drawings.supplied)
  for (let start = 0; start < drawings.all.length; start += CELLS_OF_TURN) {
    if (start > 0) await context.scheduler.yield()
    const slice = drawings.all.slice(start, start + CELLS_OF_TURN)
    await drawSlice(storage, context, { ...drawings, slice, taken })
    for (const { text } of slice) taken.add(text)
  }
}

/** Some drawings of a request, and the texts of its other cells that have one. */
interface DrawingSlice extends Drawings {
  readonly slice: readonly Drawing[]
  readonly taken: ReadonlySet<string>
}

async function drawSlice(storage: StorageReads, context: ReadingContext, drawings: DrawingSlice): Promise<void> {
  let pending = drawings.slice
  for (let draw = 0; pending.length > 0; draw++) {
    if (draw === MAX_DRAWS) return tryNeighbors(storage, context, { ...drawings, pending })
    const domains = pending.map(({ range }) => range.domain)
    const ranks = drawRanks(context.barrier.entropy, domains)
    for (const [index, drawing] of pending.entries()) drawing.text = drawing.range.tokenAt(at(ranks, index))
    pending = await usedAmong(storage, context, { ...drawings, pending })
  }
}

/** Returns the drawings whose text is also that of a stored cell or of another cell in the request. */
async function usedAmong(
  storage: StorageReads,
  context: ReadingContext,
  { slice, taken, pending }: DrawingSlice & { readonly pending: readonly Drawing[] },
): Promise<Drawing[]> {
  const again = new Set(await keepUsed(storage, context, pending))
  const seen = new Set<string>()
  for (const drawing of slice) {
    if (seen.has(drawing.text) || taken.has(drawing.text)) again.add(drawing)
    seen.add(drawing.text)
  }
  return [...again]
}

/** Returns the drawings whose text is in use, except those in a sparse domain that are in use as a stored token. */
async function keepUsed(
  storage: StorageReads,
  context: ReadingContext,
  drawings: readonly Drawing[],
): Promise<readonly Drawing[]> {
  const isSparse = ({ range }: Drawing): boolean => range.domain >= SPARSE_DOMAIN
  const textsOfAll = (some: readonly Drawing[]): string[] => some.map(({ text }) => text)
  const sparse = drawings.filter(isSparse)
  const crowded = drawings.filter((drawing) => !isSparse(drawing))
  const derived = await resolveDerived(storage, context, textsOfAll(sparse))
  const areUsed = crowded.length === 0 ? [] : await areInUse(storage, context, textsOfAll(crowded))
  return [...sparse.filter((_, index) => derived[index] !== undefined), ...crowded.filter((_, index) => areUsed[index])]
}

/** Returns whether each text is in use, in order: as a stored token, or derived from a live value. */
async function areInUse(storage: StorageReads, context: ReadingContext, texts: readonly string[]): Promise<boolean[]> {
  const stored = await findTokens(storage, context.barrier.ring, texts)
  const derived = await resolveDerived(storage, context, texts)
  return texts.map((_, index) => stored[index] !== undefined || derived[index] !== undefined)
}

/** Searches a crowded format for the first unused token after a drawn one. Throws `tokens_exhausted` if none is near. */
async function tryNeighbors(
  storage: StorageReads,
  context: ReadingContext,
  { table, all, supplied, pending }: Drawings & { readonly pending: readonly Drawing[] },
): Promise<void> {
  for (const drawing of pending) {
    const { range, column } = drawing
    const used = new Set([...supplied, ...all.filter((other) => other !== drawing).map(({ text }) => text)])
    let rank = at(drawRanks(context.barrier.entropy, [range.domain]), 0)
    let unused: string | undefined
    for (let tried = 0; unused === undefined && tried < MAX_NEIGHBORS; tried += SLICE) {
      const texts = Array.from({ length: SLICE }, (_, step) => range.tokenAt((rank + BigInt(step)) % range.domain))
      const areStored = await areInUse(storage, context, texts)
      unused = texts.find((text, index) => areStored[index] === false && !used.has(text))
      rank = (rank + BigInt(SLICE)) % range.domain
    }
    if (unused === undefined) {
      const detail = { table: table.name, column: column.name }
      throw fault(
        'tokens_exhausted',
        detail,
      )`No unused token is left for column ${column.name} of table ${table.name}. Use a larger format.`
    }
    drawing.text = unused
  }
}

/** Returns the error for a supplied token that is already in use. */
export function tokenTaken(table: Table, column: Pick<Column, 'name'>, index: RecordIndex): Fault {
  const detail = cellDetail(table, column, index)
  return fault(
    'conflict',
    detail,
  )`The token for column ${column.name} of table ${table.name} is already in use${inRecord(index)}. Use another.`
}
