/** Reads records: by ids, by the value of a column, or page by page; shown at the caller's level, or as tokens. */
import { digestPresent } from '../barrier/digest-values.ts'
import { keyOfCell, lookupCells } from '../barrier/lookup.ts'
import { createMarks, slotOf } from '../barrier/marks.ts'
import type { Marked, Tokens } from '../barrier/mint-tokens.ts'
import { mintTokens } from '../barrier/mint-tokens.ts'
import { unknownColumn } from '../barrier/parse-record.ts'
import { mintIds, readIds } from '../barrier/record-ids.ts'
import type { Fields } from '../barrier/reveal.ts'
import { openRows, revealRows } from '../barrier/reveal.ts'
import { printableName, VaultError } from '../errors.ts'
import { DEFAULT_PAGE } from '../limits.ts'
import type { Need, TableAccess } from '../policy/table-access.ts'
import type { Page, Row } from '../ports/storage.ts'
import type { AskedLevel } from '../redaction/levels.ts'
import { ASKED_LEVELS, isAskedLevel } from '../redaction/levels.ts'
import type { Column, ColumnView, Table } from '../schema/layout.ts'
import type { VisibleRow, Wanted } from '../row-access/find-visible.ts'
import { findVisible } from '../row-access/find-visible.ts'
import { judgeRows } from '../row-access/evaluate-access.ts'
import { nowMs } from '../records/writing-context.ts'
import { ValueFault } from '../values/column-type.ts'
import type { OperationContext, ParsingContext } from '../execution/context.ts'
import { assertOptions, flagOf, listOf, recordsNotFound, tableOf, textsOf } from '../execution/context.ts'
import { accessTo, columnFor } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'

const VERB = 'Get'

/** How records are shown. Source: specification, "Records". */
export interface ShowOptions {
  /** Level asked for; the answer is at the lower of this and what the caller may see. Default DEFAULT: each column's own. */
  readonly redaction?: AskedLevel
  /** Answer tokens in place of values. Not with a redaction other than DEFAULT. */
  readonly tokenization?: boolean
  /** Columns to answer; all the caller may see unless given. */
  readonly fields?: readonly string[]
}

/** Which records: by `ids`; or by `columnName` and `columnValues`; or neither, page by page. */
export interface GetOptions extends ShowOptions {
  readonly ids?: readonly string[]
  /** A unique, searchable or indexed column to look up. */
  readonly columnName?: string
  readonly columnValues?: readonly unknown[]
  /** Records to pass over. Default 0. Not with ids. */
  readonly offset?: number
  /** Records to answer at most. Default 25. Not with ids. */
  readonly limit?: number
  /** By order of insertion. Default ASCENDING. */
  readonly orderBy?: 'ASCENDING' | 'DESCENDING' | 'NONE'
}

/** One record as a read answers it: shown fields, or tokens where the token view was asked for. */
export interface ShownRecord {
  readonly id: string
  readonly fields: Fields
  readonly tokens?: Tokens
}

const SHOW_OPTIONS = ['redaction', 'tokenization', 'fields'] as const
const GET_OPTIONS = [...SHOW_OPTIONS, 'ids', 'columnName', 'columnValues', 'offset', 'limit', 'orderBy'] as const

/** How an event tells what is to be shown. */
const SHOW_TOLD = { table: 'name', redaction: ASKED_LEVELS, tokenization: 'flag', fields: 'columns' } as const
const ORDERS = ['ASCENDING', 'DESCENDING', 'NONE'] as const

/** Records of one table. */
export interface GetInput {
  readonly table: string
  readonly options?: GetOptions
}

/** One record of a table. */
export interface GetOneInput {
  readonly table: string
  readonly id: string
  readonly options?: ShowOptions
}

/** What is asked, and nothing yet of who asks. */
interface Request {
  readonly table: Table
  readonly asked: AskedLevel
  readonly asTokens: boolean
  readonly fields: readonly unknown[] | undefined
  readonly which: Which
}

/** Which records: by their ids, by the values of a column, or just the page. */
type Which =
  | { readonly ids: readonly string[] }
  | { readonly page: Page; readonly lookup: { readonly columnName: string; readonly values: readonly unknown[] } | undefined }

/** The records asked for; ids in the order asked, pages in the order of insertion. Throws `not_found` when an id names none. */
export const get: Operation<GetInput, Request, { records: ShownRecord[] }> = {
  action: 'GET',
  resourceType: 'RECORD',
  verb: VERB,
  told: {
    ...SHOW_TOLD,
    ids: 'value',
    columnName: 'name',
    columnValues: 'value',
    offset: 'number',
    limit: 'number',
    orderBy: ORDERS,
  },
  parse({ table, options = {} }, context) {
    assertOptions<GetOptions>(options, VERB, GET_OPTIONS)
    return { ...parseShow(table, options, context), which: parseWhich(options, context) }
  },
  execute: async (context, request) => ({ records: await readRecords(context, request) }),
}

/** One record by its id. Throws `not_found` when it names none. */
export const getOne: Operation<GetOneInput, Request, ShownRecord> = {
  action: 'GET',
  resourceType: 'RECORD',
  verb: VERB,
  told: { ...SHOW_TOLD, id: 'value' },
  parse({ table, id, options = {} }, context) {
    assertOptions<ShowOptions>(options, VERB, SHOW_OPTIONS)
    return { ...parseShow(table, options, context), which: { ids: textsOf([id]) } }
  },
  async execute(context, request) {
    const [record] = await readRecords(context, request)
    if (record === undefined) throw new VaultError('internal', 'Get failed. A record that was read is missing from the answer.')
    return record
  },
}

function parseShow(name: unknown, options: ShowOptions, context: ParsingContext): Omit<Request, 'which'> {
  const table = tableOf(context, name)
  context.story.about(table)
  const asked: unknown = options.redaction ?? 'DEFAULT'
  if (!isAskedLevel(asked)) {
    throw new VaultError('invalid_request', `${VERB} failed. redaction must be DEFAULT, REDACTED, MASKED or PLAIN_TEXT.`)
  }
  const asTokens = flagOf(options.tokenization, VERB, 'tokenization')
  if (asTokens && asked !== 'DEFAULT') {
    throw new VaultError(
      'invalid_request',
      `${VERB} failed. tokenization answers tokens in place of values; leave redaction out or ask for DEFAULT.`,
    )
  }
  const { fields } = options
  if (fields !== undefined && (!Array.isArray(fields) || fields.length === 0))
    throw new VaultError('invalid_request', `${VERB} failed. fields must be a list of column names, or absent.`)
  return { table, asked, asTokens, fields }
}

function parseWhich(options: GetOptions, context: ParsingContext): Which {
  if (options.ids !== undefined) {
    assertIdsAlone(options)
    return { ids: textsOf(listOf(context, options.ids, VERB, 'ids')) }
  }
  const page = pageOf(context, options)
  const { columnName, columnValues } = options
  if (!isGiven(columnName) && columnValues === undefined) return { page, lookup: undefined }
  if (!isGiven(columnName) || columnValues === undefined) {
    throw new VaultError('invalid_request', `${VERB} failed. columnName and columnValues go together. Give both or neither.`)
  }
  return { page, lookup: { columnName, values: listOf(context, columnValues, VERB, 'columnValues') } }
}

async function readRecords(context: OperationContext, request: Request): Promise<ShownRecord[]> {
  const { table, which } = request
  const access = accessTo(context, table, 'READ')
  const columns = columnsOf(access, request)
  const found = 'ids' in which ? await rowsById(context, access, which.ids) : await rowsOnPage(context, access, which)
  context.story.touches(
    table,
    found.rows.map(({ row }) => row.id),
  )
  return showRows(context, table, found, { ...request, columns })
}

/** The columns to show of each row, decided before any is read. A value that lives apart from its record is never read with it; its token is. */
function columnsOf(access: TableAccess, { table, fields, asTokens }: Request): readonly Column[] {
  const shown = asTokens ? table.tokenized : table.readable
  if (fields === undefined) return shown
  const named = [...new Set(fields)].map((name) => {
    const column = typeof name === 'string' ? table.byName.get(name) : undefined
    if (column === undefined || !access.couldSee(column)) throw unknownColumn(table.name, name)
    return column
  })
  return named.filter((column) => shown.includes(column))
}

/** What to show of each row. */
interface Show extends Pick<Request, 'asked' | 'asTokens'> {
  readonly columns: readonly Column[]
}

/** Rows with what may be shown of them, and the public ids they go by, in the same order. */
interface FoundRows {
  readonly rows: readonly VisibleRow[]
  readonly ids: readonly string[]
}

async function rowsOnPage(
  context: OperationContext,
  access: TableAccess,
  { page, lookup }: Exclude<Which, { readonly ids: readonly string[] }>,
): Promise<FoundRows> {
  const wanted = lookup === undefined ? EVERY_ROW : lookupOf(context, access, lookup)
  const rows = await findVisible(context, access, { ...wanted, needs: [...wanted.needs, SEEN], page })
  const ids = rows.map(({ row }) => row.id)
  return { rows, ids: mintIds(context.barrier.ring, access.table, ids) }
}

/** A row is there when at least one of its columns may be read. */
const SEEN: Need = { action: 'READ', columns: [] }
const EVERY_ROW: Omit<Wanted, 'page'> = { needs: [], filter: { kind: 'every' } }

/** Shows each row by its own grants; neighbours that share theirs are opened together. */
function showRows(context: OperationContext, table: Table, { rows, ids }: FoundRows, show: Show): ShownRecord[] {
  const shown: ShownRecord[] = []
  for (let start = 0; start < rows.length; ) {
    const access = rows[start]?.access
    let end = start + 1
    while (end < rows.length && rows[end]?.access === access) end++
    const views = access?.views(show.columns, show.asked) ?? []
    const group = { rows: rows.slice(start, end).map(({ row }) => row), ids: ids.slice(start, end), views }
    shown.push(...(show.asTokens ? showTokens(context, table, group) : showValues(context, table, group)))
    start = end
  }
  return shown
}

/** Rows that are shown alike. */
interface Alike {
  readonly rows: readonly Row[]
  readonly ids: readonly string[]
  readonly views: readonly ColumnView[]
}

function showValues({ barrier }: OperationContext, table: Table, { rows, ids, views }: Alike): ShownRecord[] {
  const shown = revealRows(barrier, table, rows, views)
  return ids.map((id, index) => ({ id, fields: shown[index] ?? {} }))
}

function showTokens(context: OperationContext, table: Table, { rows, ids, views }: Alike): ShownRecord[] {
  const columns = views.map((view) => view.column)
  const tokens = mintTokens(context.barrier.ring, columns, markedRows(context, table, rows, columns))
  return ids.map((id, index) => ({ id, fields: { ...tokens[index] }, tokens: tokens[index] ?? {} }))
}

/** What the tokens of stored rows are told by. */
function markedRows(context: OperationContext, table: Table, rows: readonly Row[], columns: readonly Column[]): Marked {
  const marks = createMarks(table, rows.length)
  const cursor = openRows(context.barrier, table, rows)
  const values = rows.map((_, row) => {
    cursor.to(row)
    for (const column of columns) cursor.mark(column, marks, slotOf(marks, row, column))
    return new Map(columns.map((column) => [column, column.token?.keeps === 'nothing' ? cursor.value(column) : null]))
  })
  const ids = rows.map((row) => row.id)
  return { ids, marks, valueOf: (row, column) => values[row]?.get(column), nowMs: nowMs(context) }
}

/** The rows these ids name. One that is not there for the caller is answered as one that is not there. */
async function rowsById(context: OperationContext, access: TableAccess, ids: readonly string[]): Promise<FoundRows> {
  const { table } = access
  const positions = readIds(context.barrier.ring, table, ids)
  const known = positions.filter((row) => row !== undefined)
  const found = (await context.unit.storage.get(table.physical.name, known)).filter((row) => row !== undefined)
  const grants = judgeRows(context, access, found)
  const visible = new Map(found.map((row, index) => [row.id, { row, access: grants[index] }]))
  const rows: VisibleRow[] = []
  const missing: number[] = []
  for (const [index, position] of positions.entries()) {
    const one = position === undefined ? undefined : visible.get(position)
    if (one?.access?.meets(SEEN) === true) rows.push({ row: one.row, access: one.access })
    else missing.push(index)
  }
  if (missing.length > 0) throw recordsNotFound(table, VERB, ids, missing)
  return { rows, ids }
}

/** Rows whose column holds one of the values, proven on the opened value. */
function lookupOf(
  context: OperationContext,
  access: TableAccess,
  { columnName, values: asked }: { readonly columnName: string; readonly values: readonly unknown[] },
): Omit<Wanted, 'page'> {
  const { table } = access
  const column = columnFor(context, access, { name: columnName, action: 'SEARCH' })
  if (column.lookup === undefined) throw notSearchable(table, column)
  const values = asked.map((value, index) => lookupValue(table, column, value, index))
  const cells = lookupCells(context.barrier.ring, column, values)
  const filter = { kind: 'in', column: column.lookup, values: cells } as const
  const needs = [{ action: 'SEARCH', columns: [column] } as const]
  if (column.lookup !== column.digest) return { needs, filter }
  // What a digest claims is proven on the opened value: a digest moved by hand brings no wrong record.
  const wanted = new Set(cells.map(keyOfCell))
  return { needs, filter, keeps: (rows) => provenRows(context, access, { column, rows, wanted }) }
}

function notSearchable(table: Table, column: Column): VaultError {
  return new VaultError(
    'invalid_request',
    `${VERB} failed. Column ${column.name} of table ${table.name} cannot be looked up by value. Define it unique, searchable, or plain with an index.`,
    { table: table.name, column: column.name },
  )
}

interface Claim {
  readonly column: Column
  readonly rows: readonly Row[]
  /** Digests asked for. */
  readonly wanted: ReadonlySet<string>
}

function provenRows({ barrier }: OperationContext, { table }: TableAccess, { column, rows, wanted }: Claim): boolean[] {
  const cursor = openRows(barrier, table, rows)
  const held = rows.map((_, index) => {
    cursor.to(index)
    return cursor.value(column)
  })
  return digestPresent(barrier.ring, column, held).map((digest) => wanted.has(keyOfCell(digest)))
}

function lookupValue(table: Table, column: Column, value: unknown, index: number): unknown {
  try {
    return typeof value === 'string' ? column.type.fromText(value) : column.type.parse(value)
  } catch (error) {
    if (!(error instanceof ValueFault)) throw error
    throw new VaultError(
      'unprocessable',
      `${VERB} failed. A value to look up in column ${column.name} of table ${table.name} ${error.message} (position ${index}).`,
      { table: table.name, column: column.name, index },
    )
  }
}

function assertIdsAlone(options: GetOptions): void {
  for (const name of ['columnName', 'columnValues', 'offset', 'limit', 'orderBy'] as const) {
    if (options[name] !== undefined && options[name] !== '') {
      throw new VaultError('invalid_request', `${VERB} failed. ids and ${name} do not go together. Leave one out.`)
    }
  }
}

function pageOf(context: ParsingContext, options: GetOptions): Page {
  const order: unknown = options.orderBy ?? 'ASCENDING'
  if (!ORDERS.some((known) => known === order)) {
    throw new VaultError(
      'invalid_request',
      `${VERB} failed. orderBy must be ASCENDING, DESCENDING or NONE, not ${printableName(order)}.`,
    )
  }
  const skip = wholeNumber(options.offset ?? 0, 'offset', 0, Number.MAX_SAFE_INTEGER)
  const limit = wholeNumber(options.limit ?? DEFAULT_PAGE, 'limit', 1, context.limits.page)
  return { order: order === 'DESCENDING' ? 'down' : 'up', skip, limit }
}

function wholeNumber(value: unknown, name: string, least: number, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value
  throw new VaultError('out_of_range', `${VERB} failed. ${name} must be a whole number from ${least} to ${most}.`)
}

function isGiven(name: string | undefined): name is string {
  return name !== undefined && name !== ''
}
