/** Insert: new records, all or none, without those whose unique values are in use, or an upsert by a unique column; returns ids and tokens. */

import { keyOfCell, lookupCells } from '../barrier/digest-values.ts'
import type { StoredRecord } from '../barrier/mint-tokens.ts'
import { assertComplete, parseFields, type Values } from '../barrier/parse-record.ts'
import { cellDetail, valueTaken } from '../barrier/record-errors.ts'
import { assertOwnFormsUnused, BYOT_MODES, type ByotMode, parseTokens } from '../barrier/supplied-tokens.ts'
import type { TokensByRow } from '../barrier/token-metadata.ts'
import { fault } from '../errors.ts'
import { assertNotEmpty, parseByot, parseFlag, parseList, requireTable } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import {
  alwaysGranted,
  assertColumnsWritable,
  assertGranted,
  assertRequiredWritable,
  checkOverwrites,
  namedColumns,
  requireAccess,
  requireColumn,
} from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { memberOf, upsertColumn, upsertedRows } from '../execution/upsert-column.ts'
import { dividedRows } from '../execution/written-rows.ts'
import type { TableAccess } from '../policy/table-access.ts'
import type { Cell, Row, Storage, StorageReads } from '../ports/storage.ts'
import { assertNewUnredacted, assertUnredacted } from '../records/assert-unredacted.ts'
import { storeUntaken } from '../records/ignore-store.ts'
import { retryRecords, storeNew } from '../records/record-store.ts'
import { findExisting, storeUpserts, type UpsertRecord, type UpsertRequest, unlessLastConflict } from '../records/upsert-store.ts'
import type { WritingContext } from '../records/writing-context.ts'
import { levelsOf, type RowWithAccess } from '../row-access/evaluate-access.ts'
import type { Column, Table } from '../schema/layout.ts'
import { abortableUnit } from '../unit-of-work/abortable-unit.ts'
import { PREPARED_TOO_EARLY } from '../unit-of-work/changes-together.ts'
import { retryInTransaction } from '../unit-of-work/retry-in-transaction.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { readInput } from '../util/boundary.ts'
import { at, required } from '../util/lists.ts'
import { assertItems, assertOptions } from '../util/options.ts'
import { retry } from '../util/retry.ts'
import { parseSignal, type Signal } from '../util/signal.ts'
import { createJsonBudget } from '../values/json-types.ts'

/** A record as a caller passes it: values and, where the caller supplies them, tokens, by column. */
export interface RecordInput {
  readonly fields: unknown
  readonly tokens?: unknown
}

/** Options of an insert. Source: specification, "Records". */
export interface InsertOptions {
  /** Return the tokens of tokenized columns. Default false. */
  readonly tokenization?: boolean
  /** A unique column: a record that holds the same value there is updated instead. Empty means absent. */
  readonly upsert?: string
  /**
   * `ignore`: leave out a record whose unique value another record holds, or an earlier one of this request. Its result is
   * `{ ignored: true }`. Not with upsert. Default: such a record is a `conflict`, and nothing is stored.
   */
  readonly onConflict?: 'ignore'
  /** Require every record to name the same columns. Not with upsert. */
  readonly homogeneous?: boolean
  /** Whether records can, or must, have tokens supplied by the caller. Default DISABLE. */
  readonly byot?: ByotMode
  /** Accept `*REDACTED*` and masked forms as values. Default false: what is shown in place of a value is refused, so that no value is lost. */
  readonly allowShownText?: boolean
  /** An `AbortSignal`. Aborted before the records are handed to the storage, the insert throws `cancelled`, and nothing is stored; later it has no effect. */
  readonly signal?: Signal
}

/** The result of a record that was left out, because another record holds one of its unique values. It does not say which. */
export interface IgnoredRecord {
  readonly ignored: true
  readonly id?: undefined
  readonly tokens?: undefined
}

/** The result of one record: its id and tokens, or that it was left out. */
export type InsertedRecord = (StoredRecord & { readonly ignored?: undefined }) | IgnoredRecord

/** Input of an insert. */
export interface InsertInput {
  readonly table: string
  readonly records: readonly RecordInput[]
  readonly options?: InsertOptions
}

/** A parsed request. Its records are parsed later, because the caller's grants determine which columns they can name. */
export interface InsertRequest {
  readonly table: Table
  readonly records: readonly unknown[]
  readonly tokenization: boolean
  readonly homogeneous: boolean
  readonly mode: ByotMode
  readonly upsert: string | undefined
  readonly signal: Signal | undefined
  readonly ignoresTaken: boolean
  readonly allowsShownText: boolean
}

/** Checked records. */
interface ParsedRecords extends Pick<InsertRequest, 'tokenization' | 'allowsShownText'> {
  readonly access: TableAccess
  readonly values: readonly Values[]
  readonly supplied: TokensByRow
}

const OPTION_NAMES = ['tokenization', 'upsert', 'onConflict', 'homogeneous', 'byot', 'allowShownText', 'signal'] as const

/** The words of `onConflict`, as events record them. */
const ON_CONFLICT: readonly string[] = ['ignore'] satisfies InsertOptions['onConflict'][]

/** Returns the stored records in order. Throws `invalid_request`, `unprocessable`, `conflict`, `forbidden` or `tokens_exhausted`; nothing is stored then. */
export const insert: Operation<InsertInput, InsertRequest, { records: readonly InsertedRecord[] }> = {
  action: 'INSERT',
  resourceType: 'RECORD',
  verb: 'Insert',
  members: ['table', 'records', 'options'],
  notFoundStatus: 400,
  recorded: {
    table: 'name',
    records: { fields: 'columns', tokens: 'columns' },
    tokenization: 'flag',
    upsert: 'name',
    onConflict: ON_CONFLICT,
    homogeneous: 'flag',
    byot: BYOT_MODES,
    allowShownText: 'flag',
    signal: 'omitted',
  },
  parse({ table: name, records, options = {} }, context) {
    const table = requireTable(context, name)
    context.event.setTable(table)
    assertOptions<InsertOptions>(options, OPTION_NAMES)
    assertNotEmpty(records, 'insert')
    const list = parseList(context, records, 'records')
    assertItems(list, ['fields', 'tokens'], 'records')
    return {
      table,
      tokenization: parseFlag(options.tokenization, 'tokenization'),
      homogeneous: parseFlag(options.homogeneous, 'homogeneous'),
      mode: parseByot(options.byot),
      allowsShownText: parseFlag(options.allowShownText, 'allowShownText'),
      records: list,
      upsert: options.upsert,
      signal: parseSignal(options.signal),
      ignoresTaken: parseOnConflict(options.onConflict),
    }
  },
  async execute(given, request) {
    const context = request.signal === undefined ? given : { ...given, unit: abortableUnit(given.unit, request.signal) }
    const access = requireAccess(context, request.table, 'CREATE')
    const key = upsertColumn(context, access, request)
    const parsed = readInput(() => parseRecords(context, access, request))
    if (key !== undefined) return { records: await upsertAll(context, { key, areOfBatch: false }, parsed) }
    return { records: await (request.ignoresTaken ? insertUntaken : insertAll)(context, parsed) }
  },
  changedRows: upsertedRows,
  together: {
    groupOf: ({ table, records, upsert, ignoresTaken, homogeneous, mode, tokenization, allowsShownText }) =>
      records.length === 1 && !homogeneous && !ignoresTaken && (upsert === undefined || upsert === '')
        ? `${table.name} ${mode} ${tokenization} ${allowsShownText}`
        : undefined,
    // A token that is supplied can be one that another of them frees.
    preparedGroupOf: ({ table, records, upsert, ignoresTaken, homogeneous, mode, tokenization, allowsShownText }) =>
      records.length === 1 && !homogeneous && !ignoresTaken && typeof upsert === 'string' && mode === 'DISABLE'
        ? `${table.name} ${upsert} ${tokenization} ${allowsShownText}`
        : undefined,
    async execute(given, requests, events) {
      const context = { ...given, event: dividedRows(events) }
      const request = { ...at(requests, 0), records: requests.flatMap(({ records }) => records) }
      const access = requireAccess(given, request.table, 'CREATE')
      const key = upsertColumn(given, access, request)
      const parsed = readInput(() => parseRecords(given, access, request))
      const stored = await (key === undefined
        ? insertAll(context, parsed)
        : upsertAll(context, { key, areOfBatch: true }, parsed))
      return stored.map((record) => ({ records: [record] }))
    },
  },
}

/** Returns whether records whose unique values are in use are left out. Throws `invalid_request` for another word. */
function parseOnConflict(onConflict: unknown): boolean {
  if (onConflict === undefined) return false
  if (onConflict !== 'ignore') throw fault('invalid_request')`onConflict must be ignore, or absent.`
  return true
}

/** Returns the checked records, and the tokens supplied with them. */
function parseRecords(
  context: OperationContext,
  access: TableAccess,
  { records, mode, homogeneous, tokenization, allowsShownText }: InsertRequest,
): ParsedRecords {
  const { table } = access
  assertRequiredWritable(context, access)
  const isGranted = alwaysGranted(access, 'CREATE')
  const values: Values[] = []
  const tokens: unknown[] = []
  const json = createJsonBudget(context.limits)
  for (let index = 0; index < records.length; index++) {
    const fields = memberOf(records[index], 'fields')
    tokens.push(memberOf(records[index], 'tokens'))
    if (!isGranted) assertColumnsWritable(context, access, { members: [fields, tokens[index]], action: 'CREATE' })
    values.push(parseFields(table, fields, { index, json }))
  }
  if (homogeneous) assertHomogeneous(table, values)
  const supplied = values.map((of, index) => parseTokens(table, tokens[index], { mode, values: of, index }))
  assertOwnFormsUnused({ ring: context.barrier.ring, layout: context.layout }, table, {
    ...{ tokens: supplied, values },
    indexes: [...records.keys()],
  })
  return { access, values, supplied, tokenization, allowsShownText }
}

function assertHomogeneous(table: Table, records: readonly Values[]): void {
  const first = at(records, 0)
  const index = records.findIndex((values) =>
    values.some((value, position) => (value === undefined) !== (first[position] === undefined)),
  )
  if (index < 0) return
  const detail = { table: table.name, index }
  throw fault('unprocessable', detail)`records[${index}] has other columns than records[0]; homogeneous requires the same.`
}

/** The dependencies of an insert: its rows can be those of several events. */
type InsertContext = Omit<OperationContext, 'event'> & Pick<WritingContext, 'event'>

/** A record to insert. `isGranted`: no record of its table needs a check of its columns. */
interface NewRecord extends Pick<UpsertRecord, 'values' | 'index'>, Pick<InsertRequest, 'allowsShownText'> {
  readonly isGranted?: boolean
}

/** Throws for a new record that lacks a required column, that the caller's grants do not cover, or that holds the text of a redacted value. */
function checkNew(context: InsertContext, access: TableAccess, record: NewRecord): void {
  assertComplete(access.table, record.values, record.index)
  if (record.isGranted !== true) assertGranted(context, access, { action: 'CREATE', values: record.values })
  if (!record.allowsShownText) assertNewUnredacted(access, record)
}

/** Checks all records like `checkNew`. */
function checkAllNew(context: InsertContext, { access, values: records, allowsShownText }: ParsedRecords): void {
  const isGranted = alwaysGranted(access, 'CREATE')
  for (let index = 0; index < records.length; index++)
    checkNew(context, access, { values: required(records[index]), index, isGranted, allowsShownText })
}

async function insertAll(context: InsertContext, parsed: ParsedRecords): Promise<readonly StoredRecord[]> {
  const { access, values: records, supplied, tokenization } = parsed
  const { table } = access
  checkAllNew(context, parsed)
  const request = { table, records, supplied, indexes: [...records.keys()], tokenization }
  const stored = await storeNew(context.unit, context, request)
  return stored.records
}

/** Inserts the records whose unique values no other record holds, and returns the result of each in order. */
async function insertUntaken(context: InsertContext, parsed: ParsedRecords): Promise<InsertedRecord[]> {
  const { access, values: records, supplied, tokenization } = parsed
  const { table } = access
  checkAllNew(context, parsed)
  const request = { table, records, supplied, indexes: [...records.keys()], tokenization }
  // Most records are new, so they are looked up and sealed before the transaction begins. If that was too early, inside of it.
  const attemptOn = (within: UnitOfWork) => storeUntaken(within, context, request)
  const policy = retryRecords(table, context.scheduler)
  const { positions, records: stored } = await retryInTransaction(context.unit, policy, attemptOn)
  const results: InsertedRecord[] = records.map(() => ({ ignored: true }))
  for (const [index, position] of positions.entries()) results[position] = at(stored, index)
  return results
}

/** How records are upserted. */
interface Upserting {
  readonly key: Column
  /** True for the records of items of a batch, which have different keys. */
  readonly areOfBatch: boolean
}

/** Upserts records, and returns them in order. Records with one key become one; later values win. Those of a batch throw PREPARED_TOO_EARLY. */
async function upsertAll(
  context: InsertContext,
  { key, areOfBatch }: Upserting,
  parsed: ParsedRecords,
): Promise<readonly StoredRecord[]> {
  const { access, tokenization, allowsShownText } = parsed
  const { table } = access
  const cells = keyCells(context, key, parsed)
  const byCell = new Map<string, UpsertRecord>()
  for (const [index, cell] of cells.entries()) {
    const record = { cell, values: at(parsed.values, index), supplied: parsed.supplied[index], index }
    const earlier = byCell.get(keyOfCell(cell))
    byCell.set(keyOfCell(cell), earlier === undefined ? record : overlay(table, earlier, record))
  }
  if (areOfBatch && byCell.size < cells.length) throw PREPARED_TOO_EARLY
  const request = { table, access, key, tokenization, areOfBatch, records: [...byCell.values()] }
  const { unit } = context
  const policy = retryRecords(table, context.scheduler)
  const attempts = () => {
    const attempt = unlessLastConflict()
    return async (within: UnitOfWork, isPrepared = false) => {
      const found = await findExisting(within.storage, context, request)
      const existing = await checkUpserts(context, within.storage, { ...request, found, allowsShownText })
      return attempt(found, () => storeUpserts(within, context, { ...request, existing, isPrepared }))
    }
  }
  const shared = (within: UnitOfWork<Storage>) => {
    const attemptOn = attempts()
    return retry(policy, () => within.change(attemptOn))
  }
  // Records are looked up and sealed before the transaction begins. If that was too early, inside of it.
  const alone = () => retryInTransaction(unit, policy, attempts())
  const [cell, ...others] = byCell.keys()
  const stored = await (others.length > 0
    ? alone()
    : unit.changeInTurn(`${table.physical.name} ${key.name} ${cell}`, { alone, shared }))
  const byKey = new Map([...byCell.keys()].map((cell, position) => [cell, at(stored, position)]))
  return cells.map((cell) => required(byKey.get(keyOfCell(cell)), 'An upserted record'))
}

/** Records to upsert, and the row of each; undefined for a new one. */
interface UpsertsToCheck
  extends Pick<UpsertRequest, 'table' | 'access' | 'key' | 'records'>,
    Pick<InsertRequest, 'allowsShownText'> {
  readonly found: readonly (Row | undefined)[]
}

/**
 * Checks new records and changes against the caller's grants, and returns the caller's access to each existing row. A row the
 * caller cannot change gives `conflict`, like any duplicate value: callers who can write a unique column can detect duplicates in
 * any case.
 */
async function checkUpserts(
  context: InsertContext,
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
  if (hidden !== undefined) throw valueTaken(table, key, hidden.index)
  if (!allowsShownText) {
    const before = existing.map((one) => one.access)
    const rows = changes.map(({ row }) => row)
    await assertUnredacted(storage, context, { table, rows, before, levelOf: levelsOf(access, before), records: changes })
  }
  const byRow = new Map(existing.map((one) => [one.row, one]))
  return found.map((row) => (row === undefined ? undefined : byRow.get(row)))
}

/** Returns the stored cell of each record's key, in order. Throws `unprocessable` for a record without a key. */
function keyCells({ barrier }: InsertContext, key: Column, { access, values }: ParsedRecords): Exclude<Cell, null>[] {
  const { table } = access
  const keys = values.map((record) => record[key.position])
  const index = keys.findIndex((value) => value === undefined || value === null)
  if (index >= 0) {
    const detail = cellDetail(table, key, index)
    throw fault('unprocessable', detail)`records[${index}] has no value for the upsert column ${key.name} of table ${table.name}.`
  }
  return lookupCells(barrier.ring, key, keys)
}

/** Returns one record merged over another. Later values win; a token is kept only with the value it was supplied for. */
function overlay(table: Table, under: UpsertRecord, over: UpsertRecord): UpsertRecord {
  const values = under.values.map((value, position) => (over.values[position] === undefined ? value : over.values[position]))
  const supplied = new Map(over.supplied ?? [])
  for (const [name, token] of under.supplied ?? []) {
    const column = required(table.byName.get(name), 'The column of a supplied token')
    if (over.values[column.position] === undefined) supplied.set(name, token)
  }
  return { cell: under.cell, values, supplied, index: under.index }
}
