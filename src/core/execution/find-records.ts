/** Finds the records that a read names, by their ids, by the value of a column or page by page, and those that are changed by the value of a column. */

import { allLookupCells, keyOfCell, lookupCells } from '../barrier/digest-values.ts'
import { parseListedValue } from '../barrier/parse-record.ts'
import { decodeCursor, decodeRecordIds, encodePage, type PagedRead } from '../barrier/record-ids.ts'
import { type Fault, fault, printableName, words } from '../errors.ts'
import type { RequiredGrant, RowAccess, TableAccess } from '../policy/table-access.ts'
import type { Page, Row } from '../ports/storage.ts'
import type { Show } from '../records/show-records.ts'
import { evaluateAccessInSlices, type FoundRows, type RowWithAccess } from '../row-access/evaluate-access.ts'
import { findVisible, type VisibleRows } from '../row-access/find-visible.ts'
import type { Table } from '../schema/layout.ts'
import type { UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { readInput } from '../util/boundary.ts'
import { at, present } from '../util/lists.ts'
import { assertNotAborted } from '../util/signal.ts'
import { createJsonBudget } from '../values/json-types.ts'
import { parseList, recordsNotFound } from './check-input.ts'
import type { OperationContext, ParsingContext } from './context.ts'
import type { EventBuilder } from './event-builder.ts'
import { type FoundPage, findByValue, notACursor, type ValuePage } from './find-by-value.ts'
import { requireAccess, requireColumn } from './grants.ts'

/** The records to read: by their ids, or those of a page. */
export type Which = ListedIds | ListedPage | ValuePage

/** A page of the records of a table, or of those with given values in a column. */
export interface ListedPage extends Omit<ValuePage, 'terms' | 'areTexts' | 'by'> {
  readonly lookup: Lookup | undefined
}

/** Ids, and which of their records are returned. Every id must have a record. */
export interface ListedIds {
  readonly ids: readonly string[]
  /** Undefined for the order of the ids. */
  readonly order: Page['order'] | undefined
  readonly offset: number | undefined
  /** Undefined for all. */
  readonly limit: number | undefined
  /** Leave out ids without a record, in place of `not_found`. Default false. */
  readonly skipsMissing?: boolean
  /** True if the operation succeeds whenever the one id has a visible record that opens, and is about nothing else. Default false. */
  readonly decides?: boolean
}

/** A column, and the values to look up in it. */
export interface Lookup {
  readonly columnName: string
  readonly values: readonly unknown[]
  /** True if they were given as a list, which errors then index. */
  readonly isList: boolean
  /** True if each value is its text. */
  readonly areTexts: boolean
}

/** Returns all records of these ids, in their order. */
export function allOf(ids: readonly string[]): ListedIds {
  return { ids, order: undefined, offset: 0, limit: undefined }
}

/**
 * Returns the rows of a read, with their access. Throws `not_found` if one of its ids has no visible record, `invalid_request` for a
 * cursor of another read, and `cancelled`.
 */
export function findRecords(context: OperationContext, access: TableAccess, which: Which): Promise<FoundPage> {
  if ('ids' in which) return rowsById(context, access, which)
  return 'terms' in which ? findByValue(context, access, which) : rowsOnPage(context, access, which)
}

/** Adds found rows that are shown to an event, and the levels of their values. */
export function addShown(
  event: Pick<EventBuilder, 'addRows' | 'addViews'>,
  { table, columns, redaction, asTokens }: Show,
  rows: readonly RowWithAccess[],
): void {
  event.addRows(
    table,
    rows.map(({ row }) => row.id),
  )
  if (asTokens) return
  let last: RowAccess | undefined
  for (const { access } of rows) {
    if (access !== last) event.addViews(access.views(columns, redaction))
    last = access
  }
}

/** A row is visible when at least one of its columns can be read. */
const VISIBLE: RequiredGrant = { action: 'READ', columns: [] }

/** Returns the rows of these ids that are on the page. Throws `not_found` for rows that are invisible, as for those that do not exist. */
async function rowsById(
  context: OperationContext,
  access: TableAccess,
  { ids, order, offset = 0, limit = ids.length, skipsMissing = false, decides = false }: ListedIds,
): Promise<FoundRows> {
  const { table } = access
  const { unit, barrier } = context
  const decoded = decodeRecordIds(barrier.ring, table, ids)
  const stored = await (decides ? storedRow(unit, access, present(decoded)) : storedRows(unit, table, present(decoded)))
  const evaluated = await evaluateAccessInSlices(context, access, present(stored))
  const { rows, missing } = visibleRows(decoded, stored, evaluated)
  if (missing.length > 0 && !skipsMissing) throw recordsNotFound(table, ids, missing)
  const visible = missing.length === 0 ? ids : withoutMissing(ids, missing)
  if (order === undefined) return pageOf({ rows, ids: visible }, offset, limit)
  const found = rows.map((row, index) => ({ row, id: at(visible, index) }))
  // Row ids increase with every insertion.
  found.sort((left, right) => (left.row.row.id - right.row.row.id) * (order === 'asc' ? 1 : -1))
  return pageOf({ rows: found.map(({ row }) => row), ids: found.map(({ id }) => id) }, offset, limit)
}

function storedRows(
  { storage }: UnitOfWork,
  { physical }: Table,
  rows: readonly number[],
): Promise<readonly (Row | undefined)[]> {
  return storage.get(physical.name, rows)
}

/** Reads one row, with its event where every row is visible, so that its existence decides. */
function storedRow(unit: UnitOfWork, access: TableAccess, rows: readonly number[]): Promise<readonly (Row | undefined)[]> {
  const [row] = rows
  const { getRecorded } = unit
  if (row === undefined || getRecorded === undefined) return storedRows(unit, access.table, rows)
  const isCertain = access.conditions.length === 0 && access.alwaysMeets(VISIBLE)
  return isCertain ? getRecorded(access.table, row).then((found) => [found]) : storedRows(unit, access.table, rows)
}

/** Returns the visible rows, and the indexes of the ids without one. Mostly there is one for each id. */
function visibleRows(
  decoded: readonly (number | undefined)[],
  stored: readonly (Row | undefined)[],
  evaluated: readonly RowWithAccess[],
): { readonly rows: readonly RowWithAccess[]; readonly missing: readonly number[] } {
  if (evaluated.length === decoded.length && areVisible(evaluated)) return { rows: evaluated, missing: [] }
  const rows: RowWithAccess[] = []
  const missing: number[] = []
  let wanted = 0
  let next = 0
  for (const [index, id] of decoded.entries()) {
    const one = id === undefined || stored[wanted++] === undefined ? undefined : evaluated[next++]
    if (one !== undefined && isVisible(one)) rows.push(one)
    else missing.push(index)
  }
  return { rows, missing }
}

/** Rows that every condition treats alike have one access, which is asked once. */
function areVisible(rows: readonly RowWithAccess[]): boolean {
  let asked: RowWithAccess | undefined
  for (const row of rows) {
    if (row.access !== asked?.access && !isVisible(row)) return false
    asked = row
  }
  return true
}

function isVisible({ access }: RowWithAccess): boolean {
  return access.meets(VISIBLE)
}

function withoutMissing(ids: readonly string[], missing: readonly number[]): readonly string[] {
  const indexes = new Set(missing)
  return ids.filter((_, index) => !indexes.has(index))
}

function pageOf(found: FoundRows, offset: number, limit: number): FoundRows {
  if (offset === 0 && limit >= found.rows.length) return found
  return { rows: found.rows.slice(offset, offset + limit), ids: found.ids.slice(offset, offset + limit) }
}

/** Reads one row more than the page has, which shows whether there is a next page. */
async function rowsOnPage(context: OperationContext, access: TableAccess, listed: ListedPage): Promise<FoundPage> {
  const { unit, barrier } = context
  const { page, lookup, after, isResumable, signal } = listed
  const { table } = access
  const { wanted, found } = lookup === undefined ? EVERY_ROW : rowsHolding(context, access, lookup)
  const read: PagedRead = { table, order: page.order, lookup: found }
  const start = after === undefined ? {} : { after: startOf(context, read, after) }
  const needs = [...wanted.needs, VISIBLE]
  assertNotAborted(signal)
  const rows = await findVisible(unit.storage, context, {
    ...wanted,
    access,
    needs,
    signal,
    page: { ...page, ...start, limit: page.limit + 1 },
  })
  const hasNext = rows.length > page.limit
  const shown = hasNext ? rows.slice(0, page.limit) : rows
  const rowIds = shown.map(({ row }) => row.id)
  const last = rowIds.at(-1) ?? start.after ?? 0
  const encoded = encodePage(barrier.ring, read, { rows: rowIds, last: hasNext || isResumable ? last : undefined })
  return { rows: shown, ...encoded }
}

/** Returns the row after which a page begins. */
function startOf({ barrier }: OperationContext, read: PagedRead, after: string): number {
  const row = decodeCursor(barrier.ring, read, after)
  if (row !== undefined) return row
  throw notACursor()
}

/** The rows to find, without page and access, and what a cursor is bound to. */
interface WantedRows {
  readonly wanted: Omit<VisibleRows, 'page' | 'access'>
  readonly found: PagedRead['lookup']
}

const EVERY_ROW: WantedRows = { wanted: { needs: [], filter: { kind: 'all' } }, found: undefined }

/** Returns the rows with one of the values in the column. */
function rowsHolding(
  context: OperationContext,
  access: TableAccess,
  { columnName, values, isList, areTexts }: Lookup,
): WantedRows {
  const { barrier } = context
  const { table } = access
  const column = requireColumn(context, access, { name: columnName, action: 'SEARCH' })
  if (column.lookup === undefined) {
    const detail = { table: table.name, column: column.name }
    throw fault(
      'invalid_request',
      detail,
    )`Column ${column.name} of table ${table.name} has no lookup index. Define it unique or searchable, or plain with index: true.`
  }
  const json = createJsonBudget(context.limits)
  const parsed = readInput(() =>
    values.map((value, position) => {
      const index = isList ? position : undefined
      return parseListedValue(table, column, { value, list: `where.${column.name}`, index, isText: areTexts, json })
    }),
  )
  const { ring } = barrier
  const cells = allLookupCells(ring, column, parsed)
  const filter = { kind: 'in', column: column.lookup, values: cells } as const
  const needs = [{ action: 'SEARCH', columns: [column] } as const]
  const holds = column.lookup === column.digest ? { holds: { column, digests: new Set(cells.map(keyOfCell)) } } : {}
  return {
    wanted: { needs, filter, ...holds },
    found: { column, cells: (version) => lookupCells(ring, column, parsed, version) },
  }
}

/** The records that are meant: one column, unique, searchable, indexed or with deterministic tokens, and its value in them, or a list of values. */
export type Where = Readonly<Record<string, unknown>>

/**
 * Returns the look-up of a request. Throws `invalid_request` unless it names one column: a second one would not narrow it, and a value that
 * is undefined would widen it.
 */
export function parseWhere(context: ParsingContext, where: unknown): Lookup {
  const columns = typeof where === 'object' && where !== null && !Array.isArray(where) ? Object.entries(where) : []
  const [first, ...others] = columns
  if (first === undefined)
    throw fault('invalid_request')`where must be an object with one column, and its value or a list of values: { column: value }.`
  if (others.length > 0) throw fault('invalid_request')`where has more than one column. Look up one of them, or use a query.`
  const [name, value] = first
  if (value === undefined) throw fault('invalid_request')`Column ${printableName(name)} of where is undefined. Give it a value.`
  const values = Array.isArray(value) ? parseList(context, value, 'values of where') : [value]
  return { columnName: name, values, isList: Array.isArray(value), areTexts: false }
}

/** Returns the caller's access to the table. Throws `forbidden` if it covers no read, or not the action. */
export function requireChangeAccess(
  context: OperationContext,
  table: TableAccess['table'],
  action: 'UPDATE' | 'DELETE',
): TableAccess {
  requireAccess(context, table, 'READ')
  return requireAccess(context, table, action)
}

/** A read that begins at the first record, and does not go on. */
const FIRST_PAGE = { after: undefined, isResumable: false, signal: undefined } as const

/**
 * Returns the records with one of the values that are visible to the caller, in the order of insertion. Needs what a read by the column
 * needs. Throws `limit_exceeded` if there are more than `limits.maxRecords`, so that a wide condition changes nothing.
 */
export async function findChangeable(
  { unit, ...context }: OperationContext & { readonly unit: UnitOfWork },
  access: TableAccess,
  lookup: Lookup,
): Promise<FoundRows> {
  const { maxRecords } = context.limits
  const page = { order: 'asc', limit: maxRecords + 1 } as const
  const found = await findRecords({ ...context, unit }, access, { ...FIRST_PAGE, page, lookup })
  if (found.rows.length <= maxRecords) return found
  const { name } = access.table
  throw fault('limit_exceeded', {
    table: name,
  })`More than ${maxRecords} records of table ${name} have these values. Pass fewer values, or raise limits.maxRecords.`
}

/** Throws `not_found` if the caller can read a record and not change it: for the change, it does not exist. */
export function assertChangeable(access: TableAccess, { rows, ids }: FoundRows, need: RequiredGrant): void {
  const missing = rows.flatMap((row, index) => (row.access.meets(need) ? [] : [index]))
  if (missing.length > 0) throw notChangeable(access, ids, missing)
}

/** The error for found records that the caller cannot change. They are visible, so their ids are named. */
export function notChangeable({ table }: TableAccess, ids: readonly string[], missing: readonly number[]): Fault {
  const details = missing.flatMap((index) => {
    const id = ids[index]
    return id === undefined ? [] : [{ table: table.name, id }]
  })
  return fault(
    'not_found',
    details,
  )`${missing.length} of the records of table ${table.name} with these values ${words(missing.length === 1 ? 'is not one' : 'are not some')} that the caller can change. Ask the vault owner for the grant, or name the records by their ids.`
}
