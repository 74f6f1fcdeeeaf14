/** Compares the cells of existing rows with the values that a write names: those that it does not change keep their tokens. */

import { isUnchanged } from '../barrier/digest-values.ts'
import { hasImpossibleVersion } from '../barrier/record-errors.ts'
import { type OpenRows, openRows } from '../barrier/reveal.ts'
import { createTokenMetadata, type LevelOf, slotOf, type UnchangedCells } from '../barrier/token-metadata.ts'
import { type FoundTransient, revealTransients } from '../barrier/transients.ts'
import { inSlices } from '../pace/pace.ts'
import { byBodies } from '../pace/pages.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import type { ReadingContext } from '../row-access/evaluate-access.ts'
import type { Column, Table } from '../schema/layout.ts'
import { groupBy, required } from '../util/lists.ts'
import { nowMs } from '../util/time.ts'
import type { WriteRequest } from './choose-tokens.ts'
import { getTransients } from './token-store.ts'

/** Records to write over existing rows, one for each row. */
export interface ChangeRequest extends WriteRequest {
  readonly rows: readonly Row[]
  /** Absent if no cell keeps its token. */
  readonly levelOf?: LevelOf
}

/** A request with cells that can keep their tokens. */
type Comparable = ChangeRequest & { readonly levelOf: LevelOf }

/**
 * Returns the cells with unchanged values; undefined if no cell keeps its token. Cells of other token kinds are compared as they are sealed again, so
 * rows are opened here only for those whose token is a stored text, or whose value is stored apart.
 */
export async function findUnchanged(
  storage: StorageReads,
  context: ReadingContext,
  request: ChangeRequest,
): Promise<UnchangedCells | undefined> {
  const { table, rows, records, levelOf } = request
  if (levelOf === undefined || table.tokenized.length === 0) return undefined
  const keepsText = new Uint8Array(rows.length * table.tokenized.length)
  const columns = table.tokenized.filter(
    ({ token, position }) =>
      (token?.keeps === 'text' || token?.expires === true) && records.some((values) => (values[position] ?? null) !== null),
  )
  if (columns.length === 0) return { levelOf, keepsText, transients: new Map() }
  const named = await inSlices(byBodies(rows), context.scheduler, (start, end) =>
    compareRows(context, { ...request, levelOf }, { columns, keepsText, start, end }),
  )
  return { levelOf, keepsText, transients: await unchangedTransients(storage, context, named) }
}

/** The columns and rows that are compared, and what is found. */
interface Comparing {
  readonly columns: readonly Column[]
  readonly keepsText: Uint8Array
  readonly start: number
  readonly end: number
}

/** A transient value that a write names, and its slot. */
interface NamedTransient {
  readonly cell: TransientCell
  readonly slot: number
  readonly value: unknown
}

/** Marks the unchanged cells whose token is a text, and returns the transient values that these records name. */
function compareRows(
  { barrier }: Pick<ReadingContext, 'barrier'>,
  { table, rows, records, supplied, levelOf }: Comparable,
  { columns, keepsText, start, end }: Comparing,
): NamedTransient[] {
  const cursor = openRows(barrier, table, rows.slice(start, end))
  const cells = transientCells(cursor, table)
  const named: NamedTransient[] = []
  for (let index = start; index < end; index++) {
    const values = required(records[index])
    cursor.to(index - start)
    for (const column of columns) {
      const value = values[column.position] ?? null
      if (value === null || supplied[index]?.has(column.name) === true || levelOf(index, column) !== 'PLAIN_TEXT') continue
      const slot = index * table.tokenized.length + column.tokenPosition
      if (column.token?.expires === true) {
        const cell = cells(column)
        if (cell !== undefined) named.push({ cell, slot, value })
      } else if (cursor.tokenText(column) !== undefined && cursor.holds(column, value)) keepsText[slot] = 1
    }
  }
  return named
}

/** Returns the rows of those whose value is the one that is written, by slot. */
async function unchangedTransients(
  storage: StorageReads,
  context: ReadingContext,
  named: readonly NamedTransient[],
): Promise<Map<number, Row>> {
  const live = await liveTransients(
    storage,
    context,
    named.map(({ cell }) => cell),
  )
  const unchanged = new Map<number, Row>()
  for (const { cell, slot, value } of named) {
    const one = live.get(cell)
    if (one !== undefined && isUnchanged(cell.column, one.value, value)) unchanged.set(slot, one.row)
  }
  return unchanged
}

/** A cell whose value is stored apart: the row of the value. */
export interface TransientCell {
  readonly column: Column
  readonly row: number
  /** True if a stored value has the token of the cell. */
  readonly isToken: (found: FoundTransient) => boolean
}

/** Returns a function for the cell of a transient column in the row that a cursor is at; undefined if it has no value. */
export function transientCells(cursor: OpenRows, table: Table): (column: Column) => TransientCell | undefined {
  const stored = createTokenMetadata(table, 1)
  return (column) => {
    const slot = slotOf(stored, 0, column)
    stored.transientRefs.fill(undefined)
    cursor.readMetadata(column, stored, slot)
    const ref = stored.transientRefs[slot]
    if (ref === undefined) return undefined
    const text = stored.texts[slot]
    const high = stored.high[slot]
    const low = stored.low[slot]
    const isToken = (found: FoundTransient): boolean =>
      found.text === text && (text !== undefined || (found.high === high && found.low === low))
    return { column, row: ref.row, isToken }
  }
}

/** Returns the values of those cells that have not expired, with their rows. A row that was changed in the database has none. */
export async function liveTransients(
  storage: StorageReads,
  context: ReadingContext,
  cells: readonly TransientCell[],
): Promise<ReadonlyMap<TransientCell, { readonly row: Row; readonly value: unknown }>> {
  const live = new Map<TransientCell, { row: Row; value: unknown }>()
  const now = nowMs(context)
  for (const [column, group] of groupBy(cells, (cell) => cell.column)) {
    const ids = group.map(({ row }) => row)
    const rows = await getTransients(storage, ids)
    const found = revealTransients(context.barrier, column, rows)
    for (const [k, cell] of group.entries()) {
      const [row, one] = [rows[k], found[k]]
      if (row === undefined || one === undefined || hasImpossibleVersion(row)) continue
      if (one.expiresAt > now && cell.isToken(one)) live.set(cell, { row, value: one.value })
    }
  }
  return live
}
