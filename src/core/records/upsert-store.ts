/** Writes records by their unique values, all or none: an upsert changes those that exist, and ignoring conflicts leaves them out. */
import type { Barrier } from '../barrier/barrier.ts'
import { isSameValue, keyOfCell, lookupCells, olderCells } from '../barrier/digest-values.ts'
import type { StoredRecord } from '../barrier/mint-tokens.ts'
import type { Values } from '../barrier/parse-record.ts'
import type { RecordIndex } from '../barrier/record-errors.ts'
import { encodeRecordIds } from '../barrier/record-ids.ts'
import { type Fault, fault, isVaultError, words } from '../errors.ts'
import { createPace } from '../pace/pace.ts'
import type { TableAccess } from '../policy/table-access.ts'
import type { Cell, Row, StorageReads } from '../ports/storage.ts'
import { levelsOf, type RowWithAccess, valuesInSlices } from '../row-access/evaluate-access.ts'
import type { Column, Table } from '../schema/layout.ts'
import { type ChangePart, changeTogether, PREPARED_TOO_EARLY } from '../unit-of-work/changes-together.ts'
import { isIdConflict } from '../unit-of-work/gather.ts'
import type { Batch, UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { at, required } from '../util/lists.ts'
import { Doubtful, STALE } from './attempt-change.ts'
import type { WriteRequest } from './choose-tokens.ts'
import {
  mintInputOf,
  mintInTurns,
  type NewRecords,
  type StoredNew,
  storeChanges,
  storeNew,
  type WritingContext,
} from './record-store.ts'

/** One record to write by its key. */
export interface UpsertRecord {
  /** The stored cell by which the key is looked up. */
  readonly cell: Exclude<Cell, null>
  readonly values: Values
  readonly supplied: ReadonlyMap<string, string> | undefined
  readonly index: RecordIndex
}

/** Records with distinct keys. */
export interface UpsertRequest {
  readonly table: Table
  /** The caller's access to the table. */
  readonly access: TableAccess
  readonly key: Column
  readonly records: readonly UpsertRecord[]
  readonly tokenization: boolean
  /**
   * True for records of items of a batch, each with an event of its own. New ones are stored before the changed ones then, so that each value is in use for
   * as long as in the order of the items, or longer. Else a new record can have a unique value that a changed one frees.
   */
  readonly areOfBatch: boolean
}

/** What was found of the records of a request, and how they are stored. */
interface FoundRecords {
  readonly existing: readonly (RowWithAccess | undefined)[]
  readonly isPrepared: boolean
}

/** Records to look up by their keys. */
export type KeyedRecords = Pick<UpsertRequest, 'table' | 'key'> & {
  readonly records: readonly Pick<UpsertRecord, 'cell' | 'values'>[]
}

/** Returns the existing row of each record, in order; undefined for a new record. Throws `data_loss` if a record of another value has the digest of a key. */
export async function findExisting(
  storage: StorageReads,
  context: Pick<WritingContext, 'barrier' | 'scheduler'>,
  { table, key, records }: KeyedRecords,
): Promise<(Row | undefined)[]> {
  const { barrier } = context
  const lookup = required(key.lookup, 'The look-up column of an upsert')
  const older = olderCells(
    barrier.ring,
    key,
    records.map(({ values }) => values[key.position]),
  )
  const cells = [...records.map((record) => record.cell), ...older]
  const filter = { kind: 'in', column: lookup, values: cells } as const
  const rows = await storage.find(table.physical.name, filter, { order: 'asc', limit: records.length })
  const held = await valuesInSlices(context, { table, column: key }, rows)
  const byCell = new Map(rows.map((row, index) => [keyOfCell(row[lookup]), index]))
  return records.map(({ cell, values }, position) => {
    const index = byCell.get(keyOfCell(cell)) ?? byCell.get(keyOfCell(older[position]))
    const row = index === undefined ? undefined : rows[index]
    const value = index === undefined ? undefined : held[index]
    if (row === undefined) return undefined
    // The opened value decides, so that a digest moved in the database finds no wrong record.
    if (value !== null && isSameValue(key, value, values[key.position])) return row
    barrier.reportMismatch?.({ table, column: key, row: row.id })
    throw takenByOther(barrier, { table, key, row: row.id })
  })
}

/** The unique index holds the digest of the key for another record, so that no record of the key can be inserted. */
function takenByOther(
  { ring }: Barrier,
  { table, key, row }: Pick<UpsertRequest, 'table' | 'key'> & { readonly row: number },
): Fault {
  const [id = ''] = encodeRecordIds(ring, table, [row])
  return fault('data_loss', {
    table: table.name,
    column: key.name,
    id,
  })`Record ${words(id)} of table ${table.name} has the digest of another value in column ${key.name}: it was changed in the database. Run vault.verifyRecords().`
}

/**
 * One attempt: changes existing records, and then inserts the new ones, as one change. `existing` holds the row of each record and
 * the caller's access to it, undefined for new records. `isPrepared`: all is sealed before anything is stored; else the unit is a transaction,
 * in which new records meet what the changed ones stored and freed. Throws STALE if another caller wrote one of them first, or if what is
 * prepared is to be stored in order. Adds the written rows to the event.
 */
export async function storeUpserts(
  unit: UnitOfWork,
  context: WritingContext,
  { existing, isPrepared, ...request }: UpsertRequest & FoundRecords,
): Promise<readonly StoredRecord[]> {
  const { table, records, areOfBatch } = request
  const positions = records.map((_, position) => position)
  const changed = positions.filter((position) => existing[position] !== undefined)
  const fresh = positions.filter((position) => existing[position] === undefined)
  const rows = changed.map((position) => required(existing[position], 'The row of an upserted record'))
  const changes = (on: UnitOfWork, within: WritingContext) => change(on, within, { ...request, positions: changed, rows })
  const inserts = (on: UnitOfWork, within: WritingContext) => insert(on, within, { ...request, positions: fresh })
  if (fresh.length === 0) return changes(unit, context)
  if (changed.length === 0) return inserts(unit, context)
  const written: (readonly number[])[] = []
  const noting = (index: number): WritingContext => {
    const setWrittenRows = (_: Table, rows: readonly number[]): void => {
      written[index] = rows
    }
    return { ...context, event: { setWrittenRows } }
  }
  const chosen = [changed, fresh]
  const parts = [changes, inserts].map((part, index) => (on: UnitOfWork) => part(on, noting(index)))
  const end = (): void => context.event.setWrittenRows(table, areOfBatch ? byPosition(chosen, written) : written.flat())
  const together = { pace: createPace(context), ...(areOfBatch && { insert: insertFirst }), end }
  const lists = await (isPrepared ? changeTogether(unit, parts, together).catch(staleIfInOrder) : inOrder(unit, parts, end))
  return byPosition(chosen, lists)
}

/** Of records of a batch: the new ones are stored before others are changed. */
function insertFirst(unit: UnitOfWork, batches: readonly Batch[]): Promise<void> {
  return unit.insert(batches)
}

/** Returns the items of lists at the positions that each list has. */
function byPosition<T>(chosen: readonly (readonly number[])[], lists: readonly (readonly T[])[]): T[] {
  const items: T[] = []
  for (const [part, positions] of chosen.entries())
    for (const [index, position] of positions.entries()) items[position] = at(at(lists, part), index)
  return items
}

/** Runs parts in a transaction, each with what those before it stored. */
async function inOrder<T>(unit: UnitOfWork, parts: readonly ChangePart<T>[], lastly: () => void): Promise<T[]> {
  const results: T[] = []
  for (const part of parts) results.push(await part(unit))
  lastly()
  return results
}

/** The next attempt is in a transaction, in order. So is one that found no token: a changed record can free it. */
function staleIfInOrder(error: unknown): never {
  throw error === PREPARED_TOO_EARLY || isVaultError(error, 'tokens_exhausted') ? STALE : error
}

/**
 * Stores what an attempt of an upsert found. A conflict is doubtful: what holds the other unique value can be a record of the same key, which
 * another caller inserted after it was looked up. It is thrown when the next attempt, after `last`, finds the same rows.
 */
export async function unlessSureConflict<T>(
  last: unknown,
  found: readonly (Row | undefined)[],
  store: () => Promise<T>,
): Promise<T> {
  if (last instanceof Doubtful && last.found.every((row, index) => row?.id === found[index]?.id)) throw last.conflict
  try {
    return await store()
  } catch (error) {
    throw isVaultError(error, 'conflict') && !isIdConflict(error) ? new Doubtful(error, found) : error
  }
}

/** Some records of an upsert, by their positions. */
type Chosen = UpsertRequest & { readonly positions: readonly number[] }

async function change(
  unit: UnitOfWork,
  context: WritingContext,
  { rows, ...chosen }: Chosen & { readonly rows: readonly RowWithAccess[] },
): Promise<readonly StoredRecord[]> {
  const write = writeRequestOf(chosen)
  const before = rows.map(({ access }) => access)
  const levelOf = levelsOf(chosen.access, before)
  const written = await storeChanges(unit, context, { ...write, rows: rows.map(({ row }) => row), levelOf })
  const mintInput = chosen.tokenization ? mintInputOf(written, write.records, before) : undefined
  return mintInTurns(context, chosen.table, written.ids, mintInput)
}

async function insert(unit: UnitOfWork, context: WritingContext, chosen: Chosen): Promise<readonly StoredRecord[]> {
  return (await storeNew(unit, context, writeRequestOf(chosen))).records
}

function writeRequestOf({ table, key, records, positions, tokenization }: Chosen): NewRecords {
  const chosen = positions.map((position) => at(records, position))
  return {
    table,
    tokenization,
    records: chosen.map(({ values }) => values),
    supplied: chosen.map(({ supplied }) => supplied),
    indexes: chosen.map(({ index }) => index),
    // Another caller inserted the same key between the look-up and the write. A supplied token in use stays so, and is no reason to try again.
    onValueTaken: (conflict) => (isVaultError(conflict) && conflict.details[0]?.column === key.name ? STALE : undefined),
  }
}

/** The records that were stored, and the position of each in the request. */
export interface StoredUntaken extends Pick<StoredNew, 'records'> {
  readonly positions: readonly number[]
}

/** One attempt. Throws STALE, with nothing stored, if another caller stored one of the values first; else like `storeNew`. */
export async function storeUntaken(unit: UnitOfWork, context: WritingContext, request: NewRecords): Promise<StoredUntaken> {
  const { table, records, supplied, indexes, tokenization } = request
  const taken = await takenColumns(unit.storage, context, request)
  const positions = [...records.keys()].filter((position) => taken[position] === undefined)
  if (positions.length === 0) {
    // An attempt before this one may have added rows, which are not stored.
    context.event.setWrittenRows(table, [])
    return { positions, records: [] }
  }
  const free = {
    table,
    tokenization,
    records: positions.map((position) => at(records, position)),
    supplied: positions.map((position) => supplied[position]),
    indexes: positions.map((position) => indexes[position]),
    onValueTaken: () => STALE,
  }
  const stored = await storeNew(unit, context, free)
  return { positions, records: stored.records }
}

/** Returns for each record the unique column whose value a stored record holds, or an earlier one of these; undefined if there is none. Throws `data_loss` like an upsert. */
export async function takenColumns(
  storage: StorageReads,
  context: Pick<WritingContext, 'barrier' | 'scheduler'>,
  { table, records }: Pick<WriteRequest, 'table' | 'records'>,
): Promise<readonly (Column | undefined)[]> {
  const columns: UniqueCells[] = []
  for (const column of table.columns)
    if (column.unique) columns.push(await uniqueCells(storage, context, { table, column, records }))
  return records.map((_, position) => {
    const held = columns.find(({ keys, taken }) => isTaken(taken, keys[position]))
    if (held !== undefined) return held.column
    for (const { keys, taken } of columns) {
      const key = keys[position]
      if (key !== undefined) taken.add(key)
    }
    return undefined
  })
}

function isTaken(taken: ReadonlySet<string>, key: string | undefined): boolean {
  return key !== undefined && taken.has(key)
}

/** The values of one unique column as keys: that of each record, undefined without a value, and those that are in use. */
interface UniqueCells {
  readonly column: Column
  readonly keys: readonly (string | undefined)[]
  readonly taken: Set<string>
}

async function uniqueCells(
  storage: StorageReads,
  context: Pick<WritingContext, 'barrier' | 'scheduler'>,
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
    column,
    keys: records.map((values) => (hasValue(values, column) ? keyOfCell(required(cells[next++])) : undefined)),
    taken: new Set([...byCell.keys()].filter((_, index) => found[index] !== undefined)),
  }
}

function hasValue(values: Values, column: Column): boolean {
  const value = values[column.position]
  return value !== undefined && value !== null
}
