/** Writes records by their unique values, all or none: an upsert changes those that exist, and ignoring conflicts leaves them out. */
import type { KeyCells } from '../barrier/key-cells.ts'
import type { StoredRecord } from '../barrier/mint-tokens.ts'
import type { Values } from '../barrier/parse-record.ts'
import type { RecordIndex } from '../barrier/record-errors.ts'
import { isVaultError } from '../errors.ts'
import { createPace } from '../pace/pace.ts'
import type { TableAccess } from '../policy/table-access.ts'
import type { Row } from '../ports/storage.ts'
import { levelsOf, type RowWithAccess } from '../row-access/evaluate-access.ts'
import type { Table, UniqueKey } from '../schema/layout.ts'
import { isSameKey } from '../schema/unique-together.ts'
import { type ChangePart, changeTogether, PREPARED_TOO_EARLY } from '../unit-of-work/changes-together.ts'
import { isIdConflict } from '../unit-of-work/gather.ts'
import type { Batch, UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { at, required } from '../util/lists.ts'
import { Doubtful, STALE } from './attempt-change.ts'
import { findTaken } from './find-by-keys.ts'
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
  /** The stored cells by which the key is looked up. */
  readonly cells: KeyCells
  readonly values: Values
  readonly supplied: ReadonlyMap<string, string> | undefined
  readonly index: RecordIndex
}

/** Records with distinct keys. */
export interface UpsertRequest {
  readonly table: Table
  /** The caller's access to the table. */
  readonly access: TableAccess
  readonly key: UniqueKey
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
    onValueTaken: (conflict) => (isConflictOf(conflict, key) ? STALE : undefined),
  }
}

/** True for the error of values of this key that another record holds. */
function isConflictOf(error: unknown, { names }: UniqueKey): boolean {
  const columns = isVaultError(error) ? error.details.flatMap(({ column }) => column ?? []) : []
  return isSameKey(columns, names)
}

/** The records that were stored, and the position of each in the request. */
export interface StoredUntaken extends Pick<StoredNew, 'records'> {
  readonly positions: readonly number[]
}

/** One attempt. Throws STALE, with nothing stored, if another caller stored one of the values first; else like `storeNew`. */
export async function storeUntaken(unit: UnitOfWork, context: WritingContext, request: NewRecords): Promise<StoredUntaken> {
  const { table, records, supplied, indexes, tokenization } = request
  const taken = await findTaken(unit.storage, context, request)
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
