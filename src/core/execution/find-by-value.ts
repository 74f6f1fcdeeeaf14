/** Finds the records of a page by what their columns hold, in the order of a column or of row ids. */
import { digestValues, keyOfCell } from '../barrier/digest-values.ts'
import { decodeCursor, encodePage, encodeRecordIds, type PagedRead } from '../barrier/record-ids.ts'
import { decodeValueCursor, encodeValueCursor, type ValuePlace } from '../barrier/value-cursors.ts'
import { type Fault, fault } from '../errors.ts'
import type { TableAccess } from '../policy/table-access.ts'
import type { Page, Row } from '../ports/storage.ts'
import { findRows } from '../queries/find-rows.ts'
import { scanningOf } from '../queries/scan-rows.ts'
import { evaluateAccessInSlices, type FoundRows, type RowWithAccess } from '../row-access/evaluate-access.ts'
import { areHeld } from '../row-access/find-visible.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import type { Source, Use } from '../sql/query.ts'
import { at, present } from '../util/lists.ts'
import type { Signal } from '../util/signal.ts'
import type { OperationContext } from './context.ts'
import { learnTicketKey } from './file-tickets.ts'
import { resolveOrderColumn, resolveTerms, type WhereConditions, type WhereTerm } from './where-conditions.ts'

/** A page of the records of a table, or of those that meet conditions. */
export interface ValuePage {
  readonly terms: readonly WhereTerm[]
  /** True if each value is its text. */
  readonly areTexts: boolean
  /** The name of the column that orders the records; undefined for the order of row ids. `page` has the direction. */
  readonly by: string | undefined
  readonly page: Page
  /** The cursor of the page before. */
  readonly after: string | undefined
  /** True if the last page has a cursor too. Only with a rising order of row ids. */
  readonly isResumable: boolean
  readonly signal: Signal | undefined
}

/** The rows of a read, and the cursor of the next page; undefined if there was no further row, and for ids. */
export interface FoundPage extends FoundRows {
  readonly next?: string | undefined
}

/** Returns the rows of a page, with their access. Throws like a query with such conditions, and `invalid_request` for a cursor of another read. */
export async function findByValue(context: OperationContext, access: TableAccess, listed: ValuePage): Promise<FoundPage> {
  const { table } = access
  const { page, isResumable, signal, after } = listed
  const uses: Use[] = []
  const source: Source = { index: 0, alias: table.name, table, access }
  const resolving = { source, uses, areTexts: listed.areTexts }
  const where = resolveTerms(context, listed.terms, resolving)
  const by = listed.by === undefined ? undefined : resolveOrderColumn(resolving, listed.by)
  const read = { table, order: page.order, lookup: undefined, conditions: where.texts, by }
  const start = after === undefined ? undefined : await startOf(context, read, after)
  const { maxRowsRead, queryTimeoutMs, maxQueryBytes } = context.limits
  const { rows, stillFound } = await findRows(scanningOf(context), {
    source,
    conditions: where.conditions,
    decided: new Set(where.byDigest.keys()),
    uses,
    by: by && { ref: { source: 0, column: by }, direction: page.order },
    // One row more shows whether there is a next page.
    page: { ...page, limit: page.limit + 1, ...(by === undefined && start !== undefined ? { after: start.row } : {}) },
    start: by && start,
    budget: { maxRows: maxRowsRead, timeoutMs: queryTimeoutMs, maxBytes: maxQueryBytes },
    signal,
  })
  const hasNext = rows.length > page.limit
  const shown = hasNext ? rows.slice(0, page.limit) : rows
  const stored = await context.unit.storage.get(
    table.physical.name,
    shown.map(({ row }) => row),
  )
  // They were found in other reads of the storage, so that another caller may have changed them since.
  const current = heldIn(context, where, table, stillFound(present(stored)))
  const last = hasNext || isResumable ? (shown.at(-1) ?? start ?? FIRST) : undefined
  return withCursor(context, read, await evaluateAccessInSlices(context, access, current), last)
}

/** The place before all rows. */
const FIRST: ValuePlace = { row: 0, value: null }

/** What a page was asked for. */
interface ReadByValue extends PagedRead {
  readonly by: Column | undefined
}

function withCursor(
  { barrier }: OperationContext,
  read: ReadByValue,
  rows: readonly RowWithAccess[],
  last: ValuePlace | undefined,
): FoundPage {
  const ids = rows.map(({ row }) => row.id)
  const { by } = read
  if (by === undefined) return { rows, ...encodePage(barrier.ring, read, { rows: ids, last: last?.row }) }
  const next = last && encodeValueCursor(barrier, { ...read, by }, last)
  return { rows, ids: encodeRecordIds(barrier.ring, read.table, ids), next }
}

/** Returns the place after which a page begins. */
async function startOf(context: OperationContext, read: ReadByValue, after: string): Promise<ValuePlace> {
  const { barrier, unit, catalog } = context
  const { by } = read
  if (by !== undefined) {
    await learnTicketKey(catalog, unit.storage, after)
    const place = decodeValueCursor(barrier, { ...read, by }, after)
    if (place !== undefined) return place
  } else {
    const row = decodeCursor(barrier.ring, read, after)
    if (row !== undefined) return { row, value: null }
  }
  throw notACursor()
}

/** The error of a text that is not a cursor of the read. */
export function notACursor(): Fault {
  return fault(
    'invalid_request',
  )`after is not a cursor of this read. Pass the next of a page with the same table, where and orderBy.`
}

/** Returns the rows that have the values by whose digests they were found. */
function heldIn(
  { barrier }: OperationContext,
  { byDigest }: WhereConditions,
  table: Table,
  rows: readonly Row[],
): readonly Row[] {
  let left = rows
  for (const { column, values } of byDigest.values()) {
    const { ring } = barrier
    const digests = new Set(ring.lookupVersions.flatMap((version) => digestValues(ring, column, values, version)).map(keyOfCell))
    const held = areHeld(barrier, table, { column, digests, rows: left })
    left = left.filter((_, index) => at(held, index))
  }
  return left
}
