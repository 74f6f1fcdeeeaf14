/** Finds the cells of existing rows whose values a write does not change, where that decides what is drawn and stored beside the rows. */
import { hasImpossibleVersion } from '../barrier/assert-versions.ts'
import { type OpenRows, openRows } from '../barrier/reveal.ts'
import { isUnchanged } from '../barrier/seal-rows.ts'
import { createTokenMetadata, type ReadsPlain, slotOf, type UnchangedCells } from '../barrier/token-metadata.ts'
import { type FoundTransient, revealTransients } from '../barrier/transients.ts'
import { inSlices } from '../maintenance/in-slices.ts'
import { bytesOfBody } from '../maintenance/row-bytes.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import type { ReadingContext } from '../row-access/reading-context.ts'
import type { Column, Table } from '../schema/layout.ts'
import { required } from '../util/at.ts'
import { groupBy } from '../util/group-by.ts'
import { nowMs } from '../util/timestamp.ts'
import { getTransients } from './transient-store.ts'
import type { WriteRequest } from './write-request.ts'

/** Records to write over existing rows, one for each row. */
export interface ChangeRequest extends WriteRequest {
  readonly rows: readonly Row[]
  /** Absent if no cell keeps its token. */
  readonly readsPlain?: ReadsPlain
}

/** A transient value that a write names: its slot, its row, and the value to write. */
interface NamedTransient {
  readonly slot: number
  readonly column: Column
  readonly row: number
  readonly value: unknown
  /** True if the stored value has the token of the cell. */
  readonly isToken: (found: FoundTransient) => boolean
}

/**
 * Returns the cells with unchanged values; undefined if no cell keeps its token. Cells of other token kinds are compared as they are sealed again, so
 * rows are opened here only for those whose token is a stored text, or whose value is stored apart.
 */
export async function findUnchanged(
  storage: StorageReads,
  context: ReadingContext,
  request: ChangeRequest,
): Promise<UnchangedCells | undefined> {
  const { table, rows, records, readsPlain } = request
  if (readsPlain === undefined || table.tokenized.length === 0) return undefined
  const keepsText = new Uint8Array(rows.length * table.tokenized.length)
  const columns = table.tokenized.filter(
    ({ token, position }) =>
      (token?.keeps === 'text' || token?.expires === true) && records.some((values) => (values[position] ?? null) !== null),
  )
  if (columns.length === 0) return { readsPlain, keepsText, transients: new Map() }
  const list = { count: rows.length, bytesAt: (index: number) => bytesOfBody(rows[index]) }
  const named = await inSlices(list, context.scheduler, (start, end) => {
    return compareRows(context, { ...request, readsPlain }, { columns, keepsText, start, end })
  })
  return { readsPlain, keepsText, transients: await unchangedTransients(storage, context, named) }
}

/** The columns and rows that are compared, and what is found. */
interface Comparing {
  readonly columns: readonly Column[]
  readonly keepsText: Uint8Array
  readonly start: number
  readonly end: number
}

/** Marks the unchanged cells whose token is a text, and returns the transient values that these records name. */
function compareRows(
  { barrier }: Pick<ReadingContext, 'barrier'>,
  { table, rows, records, supplied, readsPlain }: ChangeRequest & { readonly readsPlain: ReadsPlain },
  { columns, keepsText, start, end }: Comparing,
): NamedTransient[] {
  const cursor = openRows(barrier, table, rows.slice(start, end))
  const named: NamedTransient[] = []
  for (let index = start; index < end; index++) {
    const values = required(records[index])
    cursor.to(index - start)
    for (const column of columns) {
      const value = values[column.position] ?? null
      if (value === null || supplied[index]?.has(column.name) === true || !readsPlain(index, column)) continue
      const slot = index * table.tokenized.length + column.tokenPosition
      if (column.token?.expires !== true) {
        const isKept = cursor.tokenText(column) !== undefined && isUnchanged(column, cursor.value(column), value)
        keepsText[slot] = isKept ? 1 : 0
        continue
      }
      const one = namedTransient(cursor, table, column)
      if (one !== undefined) named.push({ ...one, slot, value })
    }
  }
  return named
}

/** Returns the transient value of the cell that the cursor is at; undefined if it has none. */
function namedTransient(cursor: OpenRows, table: Table, column: Column): Omit<NamedTransient, 'slot' | 'value'> | undefined {
  const stored = createTokenMetadata(table, 1)
  const slot = slotOf(stored, 0, column)
  cursor.readMetadata(column, stored, slot)
  const ref = stored.transientRefs[slot]
  if (ref === undefined) return undefined
  const [text, high, low] = [stored.texts[slot], stored.high[slot], stored.low[slot]]
  return {
    column,
    row: ref.row,
    isToken: (found) => found.text === text && (text !== undefined || (found.high === high && found.low === low)),
  }
}

/** Returns the rows of those that live and have the value that is written, by slot. A row that was changed in the database is replaced. */
async function unchangedTransients(
  storage: StorageReads,
  context: ReadingContext,
  named: readonly NamedTransient[],
): Promise<Map<number, Row>> {
  const unchanged = new Map<number, Row>()
  const now = nowMs(context)
  for (const [column, group] of groupBy(named, (one) => one.column)) {
    const ids = group.map(({ row }) => row)
    const rows = await getTransients(storage, ids)
    const found = revealTransients(context.barrier, column, rows)
    for (const [k, { slot, value, isToken }] of group.entries()) {
      const [row, one] = [rows[k], found[k]]
      if (row === undefined || one === undefined || hasImpossibleVersion(row)) continue
      if (one.expiresAt > now && isToken(one) && isUnchanged(column, one.value, value)) unchanged.set(slot, row)
    }
  }
  return unchanged
}
