/** Writes the records of an insert: as new ones, without those whose unique values are in use, or by the values of an upsert column. */
import { hasValue, type KeyCells, keyAlternatives, keyCells, textOfKey } from '../barrier/key-cells.ts'
import type { StoredRecord } from '../barrier/mint-tokens.ts'
import { assertComplete, type Values } from '../barrier/parse-record.ts'
import { cellDetail, valueTaken } from '../barrier/record-errors.ts'
import type { TokensByRow } from '../barrier/token-metadata.ts'
import { fault, isRefusal, say } from '../errors.ts'
import { forbidden } from '../policy/create-access.ts'
import type { TableAccess } from '../policy/table-access.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import { attemptChange } from '../records/attempt-change.ts'
import { assertNewUnredacted, assertUnredacted } from '../records/compare-stored.ts'
import { findExisting, findKeyedRows } from '../records/find-by-keys.ts'
import { type NewRecords, storeNew, type WrittenRows } from '../records/record-store.ts'
import { storeUntaken, storeUpserts, type UpsertRecord, type UpsertRequest, unlessSureConflict } from '../records/upsert-store.ts'
import { levelsOf, type RowWithAccess } from '../row-access/evaluate-access.ts'
import { type Table, type UniqueKey, uniqueKeyNamed } from '../schema/layout.ts'
import { listNames } from '../schema/unique-together.ts'
import { PREPARED_TOO_EARLY } from '../unit-of-work/changes-together.ts'
import { append, at, required } from '../util/lists.ts'
import type { WriteModes } from './check-input.ts'
import type { OperationContext, SessionContext } from './context.ts'
import {
  alwaysGranted,
  assertGranted,
  assertRequiredWritable,
  checkOverwrites,
  namedColumns,
  requireAccess,
  requireColumn,
} from './grants.ts'
import type { ChangedRows } from './operation.ts'

/** The result of a record that was left out, because another record holds one of its unique values. It does not say which. */
export interface IgnoredRecord {
  readonly ignored: true
  readonly id?: undefined
  readonly tokens?: undefined
}

/** The result of one record: its id and tokens, or that it was left out. */
export type InsertedRecord = (StoredRecord & { readonly ignored?: undefined }) | IgnoredRecord

/** Records of a request whose values and tokens are parsed. */
export interface CheckedRecords extends Pick<WriteModes, 'tokenization' | 'allowsShownText'> {
  readonly access: TableAccess
  readonly values: readonly Values[]
  readonly supplied: TokensByRow
  /** True if `checkNew` has passed each of them. */
  readonly areChecked?: boolean
}

/** A record to insert. `isGranted`: no record of its table needs a check of its columns. */
interface NewRecord extends Pick<UpsertRecord, 'values' | 'index'>, Pick<WriteModes, 'allowsShownText'> {
  readonly isGranted?: boolean
}

/** Throws for a new record that lacks a required column, that the caller's grants do not cover, or that holds the text of a redacted value. */
export function checkNew(context: SessionContext, access: TableAccess, record: NewRecord): void {
  assertComplete(access.table, record.values, record.index)
  if (record.isGranted !== true) assertGranted(context, access, { action: 'CREATE', values: record.values })
  if (!record.allowsShownText) assertNewUnredacted(access, record)
}

/** Returns the records as new ones. Throws like `checkNew`. */
function newRecords(
  context: SessionContext,
  { access, values: records, supplied, tokenization, allowsShownText, areChecked }: CheckedRecords,
): NewRecords {
  const isGranted = alwaysGranted(access, 'CREATE')
  for (let index = 0; areChecked !== true && index < records.length; index++)
    checkNew(context, access, { values: required(records[index]), index, isGranted, allowsShownText })
  return { table: access.table, records, supplied, indexes: [...records.keys()], tokenization }
}

/** Inserts records, and returns them in order. */
export async function insertAll(
  context: OperationContext<WrittenRows>,
  parsed: CheckedRecords,
): Promise<readonly StoredRecord[]> {
  const request = newRecords(context, parsed)
  const stored = await attemptChange(context.unit, { table: request.table, scheduler: context.scheduler }, (unit) =>
    storeNew(unit, context, request),
  )
  return stored.records
}

/** Inserts the records whose unique values no other record holds, and returns the result of each in order. */
export async function insertUntaken(context: OperationContext<WrittenRows>, parsed: CheckedRecords): Promise<InsertedRecord[]> {
  const request = newRecords(context, parsed)
  const stored = await attemptChange(context.unit, { table: request.table, scheduler: context.scheduler }, (unit) =>
    storeUntaken(unit, context, request),
  )
  const results: InsertedRecord[] = request.records.map(() => ({ ignored: true }))
  for (const [index, position] of stored.positions.entries()) results[position] = at(stored.records, index)
  return results
}

/** How records are upserted. */
interface Upserting {
  readonly key: UniqueKey
  /** True for the records of items of a batch, which have different keys. */
  readonly areOfBatch: boolean
}

/** Upserts records, and returns them in order. Records with one key become one; later values win. Those of a batch throw PREPARED_TOO_EARLY. */
export async function upsertAll(
  context: OperationContext<WrittenRows>,
  { key, areOfBatch }: Upserting,
  parsed: CheckedRecords,
): Promise<readonly StoredRecord[]> {
  const { access, tokenization, allowsShownText } = parsed
  const { table } = access
  const keys = requiredKeys(context, key, parsed)
  const byCell = new Map<string, UpsertRecord>()
  for (const [index, cells] of keys.entries()) {
    const record = { cells, values: at(parsed.values, index), supplied: parsed.supplied[index], index }
    const text = textOfKey(cells)
    const earlier = byCell.get(text)
    byCell.set(text, earlier === undefined ? record : overlay(table, earlier, record))
  }
  if (areOfBatch && byCell.size < keys.length) throw PREPARED_TOO_EARLY
  const request = { table, access, key, tokenization, areOfBatch, records: [...byCell.values()] }
  const [cell, ...others] = byCell.keys()
  const turn = others.length > 0 ? undefined : `${table.physical.name} ${key.names.join()} ${cell}`
  const changing = { table, scheduler: context.scheduler, turn, isOfParts: true }
  const stored = await attemptChange(context.unit, changing, async (unit, { last, isPrepared }) => {
    const found = await findExisting(unit.storage, context, request)
    const existing = await checkUpserts(context, unit.storage, { ...request, found, allowsShownText })
    return unlessSureConflict(last, found, () => storeUpserts(unit, context, { ...request, existing, isPrepared }))
  })
  const byKey = new Map([...byCell.keys()].map((cell, position) => [cell, at(stored, position)]))
  return keys.map((cells) => required(byKey.get(textOfKey(cells)), 'An upserted record'))
}

/** Records to upsert, and the row of each; undefined for a new one. */
interface UpsertsToCheck
  extends Pick<UpsertRequest, 'table' | 'access' | 'key' | 'records'>,
    Pick<WriteModes, 'allowsShownText'> {
  readonly found: readonly (Row | undefined)[]
}

/**
 * Checks new records and changes against the caller's grants, and returns the caller's access to each existing row. A row the
 * caller cannot change gives `conflict`, like any duplicate value: callers who can write a unique column can detect duplicates in
 * any case.
 */
async function checkUpserts(
  context: OperationContext<WrittenRows>,
  storage: StorageReads,
  { table, access, key, records, found, allowsShownText }: UpsertsToCheck,
): Promise<(RowWithAccess | undefined)[]> {
  const changes = records.flatMap(({ values, index }, position) => {
    const row = found[position]
    return row === undefined ? [] : [{ row, values, index }]
  })
  for (const [position, record] of records.entries())
    if (found[position] === undefined) checkNew(context, access, { ...record, allowsShownText })
  for (const { values } of changes) {
    for (const { name } of namedColumns(table, values)) requireColumn(context, access, { name, action: 'UPDATE' })
  }
  const { existing, invisible } = checkOverwrites(context, access, changes)
  const [hidden] = invisible
  if (hidden !== undefined) throw valueTaken(table, key.names, hidden.index)
  if (!allowsShownText) {
    const before = existing.map((one) => one.access)
    const rows = changes.map(({ row }) => row)
    await assertUnredacted(storage, context, { table, rows, before, levelOf: levelsOf(access, before), records: changes })
  }
  const byRow = new Map(existing.map((one) => [one.row, one]))
  return found.map((row) => (row === undefined ? undefined : byRow.get(row)))
}

/** Returns the stored cells of each record's key, in order. Throws `unprocessable` for a record without a key. */
function requiredKeys({ barrier }: SessionContext, key: UniqueKey, { access, values }: CheckedRecords): readonly KeyCells[] {
  const { table } = access
  return keyCells(barrier.ring, key, values).map((cells, index) => {
    if (cells !== undefined) return cells
    const column = required(key.columns.find((one) => !hasValue(at(values, index), one)))
    throw fault(
      'unprocessable',
      cellDetail(table, column, index),
    )`records[${index}] has no value for the upsert column ${column.name} of table ${table.name}.`
  })
}

/** Returns one record merged over another. Later values win; a token is kept only with the value it was supplied for. */
function overlay(table: Table, under: UpsertRecord, over: UpsertRecord): UpsertRecord {
  const values = under.values.map((value, position) => (over.values[position] === undefined ? value : over.values[position]))
  const supplied = new Map(over.supplied ?? [])
  for (const [name, token] of under.supplied ?? []) {
    const column = required(table.byName.get(name), 'The column of a supplied token')
    if (over.values[column.position] === undefined) supplied.set(name, token)
  }
  return { cells: under.cells, values, supplied, index: under.index }
}

/** What an upsert says beside its records. */
export interface Upserted {
  readonly table: Table
  readonly records: readonly unknown[]
  /** The names of its columns. */
  readonly upsert: readonly string[] | undefined
  readonly homogeneous: boolean
  readonly ignoresTaken: boolean
}

/** Returns the key to upsert by; undefined for an insert without upsert. */
export function upsertKey(
  context: OperationContext,
  access: TableAccess,
  { upsert: names, homogeneous, ignoresTaken }: Omit<Upserted, 'records'>,
): UniqueKey | undefined {
  if (names === undefined) return undefined
  if (ignoresTaken) throw fault('invalid_request')`onConflict cannot be combined with upsert.`
  if (homogeneous) throw fault('invalid_request')`homogeneous cannot be combined with upsert.`
  const { table } = access
  const columns = names.map((name) => requireColumn(context, access, { name, action: 'CREATE' }))
  if (!access.possiblyMeets({ action: 'UPDATE', columns: [] })) throw forbidden(context.caller, 'UPDATE', table)
  const key = uniqueKeyNamed(table, names)
  if (key !== undefined) return key
  const details = columns.map(({ name: column }) => ({ table: table.name, column }))
  const reason =
    columns.length === 1
      ? say`Column ${listNames(names)} of table ${table.name} is not unique.`
      : say`Columns ${listNames(names)} of table ${table.name} are not unique together.`
  throw fault('unprocessable', details)`${reason} Upsert by a unique column, or by columns that are unique together.`
}

/** Returns the rows that have the keys of upserts. A value that its column does not accept is left out: its item will be refused. */
export async function upsertedRows(context: OperationContext, requests: readonly Upserted[]): Promise<ChangedRows[]> {
  const keyed = new Map<UniqueKey, { readonly table: Table; readonly records: Values[] }>()
  for (const request of requests) {
    const key = lookedUpKey(context, request)
    if (key === undefined) continue
    const { records } = keyed.get(key) ?? { records: [] }
    keyed.set(key, { table: request.table, records })
    for (const record of request.records) append(records, keyIn(request.table, key, record))
  }
  const changed: ChangedRows[] = []
  const { storage } = context.unit
  for (const [key, { table, records }] of keyed) {
    const keys = keyAlternatives(context.barrier.ring, key, records)
    const rows = await findKeyedRows(storage, { table, key, columns: [] }, keys)
    if (records.length > 0) changed.push({ table, ids: rows.map(({ id }) => id) })
  }
  return changed
}

/**
 * Returns the key of an upsert; undefined for other requests, and for one that is refused before its keys are looked up. Its caller
 * would learn by waiting for a row that it exists.
 */
function lookedUpKey(context: OperationContext, request: Upserted): UniqueKey | undefined {
  try {
    const access = requireAccess(context, request.table, 'CREATE')
    const key = upsertKey(context, access, request)
    assertRequiredWritable(context, access)
    return key
  } catch (error) {
    if (!isRefusal(error)) throw error
    return undefined
  }
}

/** Returns the values of the key of a record; nothing if it has none. */
function keyIn(table: Table, key: UniqueKey, record: unknown): Values[] {
  const values: unknown[] = new Array(table.columns.length).fill(undefined)
  try {
    for (const { name, type, position } of key.columns) {
      const value = memberOf(memberOf(record, 'fields'), name)
      if (value === undefined || value === null) return []
      values[position] = type.parse(value)
    }
    return [values]
  } catch {
    return []
  }
}

/** Returns a member of an object as a caller passes it, such as the fields of a record; undefined for anything that has none. */
export function memberOf(given: unknown, name: string): unknown {
  return typeof given === 'object' && given !== null ? Reflect.get(given, name) : undefined
}
