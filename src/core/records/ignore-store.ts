/** Writes new records and leaves out those whose unique value another record holds, or an earlier one of the request. */
import { keyOfCell, lookupCells } from '../barrier/digest-values.ts'
import type { Values } from '../barrier/parse-record.ts'
import type { Cell, StorageReads } from '../ports/storage.ts'
import type { Column, Table } from '../schema/layout.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { at, required } from '../util/lists.ts'
import { type NewRecords, STALE, type StoredNew, storeNew } from './record-store.ts'
import { findExisting } from './upsert-store.ts'
import type { WriteRequest } from './write-request.ts'
import type { WritingContext } from './writing-context.ts'

/** The records that were stored, and the position of each in the request. */
export interface StoredUntaken extends Pick<StoredNew, 'records'> {
  readonly positions: readonly number[]
}

/** One attempt. Throws STALE, with nothing stored, if another caller stored one of the values first; else like `storeNew`. */
export async function storeUntaken(unit: UnitOfWork, context: WritingContext, request: NewRecords): Promise<StoredUntaken> {
  const { table, records, supplied, indexes, tokenization } = request
  const positions = await untakenPositions(unit.storage, context, request)
  if (positions.length === 0) {
    // An attempt before this one may have added rows, which are not stored.
    context.event.setWrittenRows(table, [])
    return { positions, records: [] }
  }
  const free = {
    ...{ table, tokenization },
    records: positions.map((position) => at(records, position)),
    supplied: positions.map((position) => supplied[position]),
    indexes: positions.map((position) => indexes[position]),
    onValueTaken: () => STALE,
  }
  const stored = await storeNew(unit, context, free)
  return { positions, records: stored.records }
}

/** Returns the positions of the records whose unique values no stored record holds, and no earlier one of these. Throws `data_loss` like an upsert. */
async function untakenPositions(
  storage: StorageReads,
  context: WritingContext,
  { table, records }: WriteRequest,
): Promise<readonly number[]> {
  const columns: UniqueCells[] = []
  for (const column of table.columns)
    if (column.unique) columns.push(await uniqueCells(storage, context, { table, column, records }))
  return [...records.keys()].filter((position) => {
    if (columns.some(({ keys, taken }) => isTaken(taken, keys[position]))) return false
    for (const { keys, taken } of columns) {
      const key = keys[position]
      if (key !== undefined) taken.add(key)
    }
    return true
  })
}

function isTaken(taken: ReadonlySet<string>, key: string | undefined): boolean {
  return key !== undefined && taken.has(key)
}

/** The values of one unique column as keys: that of each record, undefined without a value, and those that are in use. */
interface UniqueCells {
  readonly keys: readonly (string | undefined)[]
  readonly taken: Set<string>
}

async function uniqueCells(
  storage: StorageReads,
  context: WritingContext,
  { table, column, records }: { readonly table: Table; readonly column: Column; readonly records: readonly Values[] },
): Promise<UniqueCells> {
  const present = records.filter((values) => hasValue(values, column))
  const cells = lookupCells(
    context.barrier.ring,
    column,
    present.map((values) => values[column.position]),
  )
  const byCell = new Map<string, { readonly cell: Exclude<Cell, null>; readonly values: Values }>()
  for (const [index, cell] of cells.entries()) byCell.set(keyOfCell(cell), { cell, values: at(present, index) })
  const keyed = [...byCell.values()]
  const found = keyed.length === 0 ? [] : await findExisting(storage, context, { table, key: column, records: keyed })
  let next = 0
  return {
    keys: records.map((values) => (hasValue(values, column) ? keyOfCell(required(cells[next++])) : undefined)),
    taken: new Set([...byCell.keys()].filter((_, index) => found[index] !== undefined)),
  }
}

function hasValue(values: Values, column: Column): boolean {
  const value = values[column.position]
  return value !== undefined && value !== null
}
