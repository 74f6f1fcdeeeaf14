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
import { VaultError } from '../errors.ts'
import { DEFAULT_PAGE } from '../limits.ts'
import { columnViews, visibleColumn } from '../policy/column-views.ts'
import { assertAllowed } from '../policy/decide.ts'
import type { Page, Row } from '../ports/storage.ts'
import type { AskedLevel } from '../redaction/levels.ts'
import { isAskedLevel } from '../redaction/levels.ts'
import type { Column, Table } from '../schema/layout.ts'
import { quotedName } from '../schema/names.ts'
import { nowMs } from '../stores/store-context.ts'
import { ValueFault } from '../values/column-type.ts'
import type { OperationContext } from './context.ts'
import { assertOptions, flagOf, listOf, recordsNotFound, tableOf, textsOf } from './context.ts'

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

/** The records asked for; ids in the order asked, pages in the order of insertion. Throws `not_found` when an id names none. */
export async function getRecords(
  context: OperationContext,
  tableName: string,
  options: GetOptions,
): Promise<{ records: ShownRecord[] }> {
  const table = tableOf(context, tableName, VERB)
  assertOptions<GetOptions>(options, VERB, [
    'ids',
    'columnName',
    'columnValues',
    'offset',
    'limit',
    'orderBy',
    'redaction',
    'tokenization',
    'fields',
  ])
  assertAllowed(context.caller, 'READ', table)
  const show = showOf(context, table, options)
  if (options.ids !== undefined) {
    assertIdsAlone(options)
    const ids = textsOf(listOf(context, options.ids, VERB, 'ids'))
    return { records: showRows(context, table, { rows: await rowsById(context, table, ids), ids }, show) }
  }
  const page = pageOf(context, options)
  const rows =
    isGiven(options.columnName) || options.columnValues !== undefined
      ? await rowsByValue(context, table, options, page)
      : await context.storage.find(table.physical.name, { kind: 'every' }, page)
  const ids = mintIds(
    context.barrier.ring,
    table,
    rows.map((row) => row.id),
  )
  return { records: showRows(context, table, { rows, ids }, show) }
}

/** One record by its id. Throws `not_found` when it names none. */
export async function getRecord(
  context: OperationContext,
  tableName: string,
  id: string,
  options: ShowOptions,
): Promise<ShownRecord> {
  assertOptions<ShowOptions>(options, VERB, ['redaction', 'tokenization', 'fields'])
  const { records } = await getRecords(context, tableName, { ...options, ids: [id] })
  const [record] = records
  if (record === undefined) throw new VaultError('internal', 'Get failed. A record that was read is missing from the answer.')
  return record
}

/** What to show of each row, decided before any is read. */
interface Show {
  readonly columns: readonly Column[]
  readonly asked: AskedLevel
  readonly asTokens: boolean
}

function showOf(context: OperationContext, table: Table, options: ShowOptions): Show {
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
  const columns = options.fields === undefined ? table.columns : namedColumns(context, table, options.fields)
  // A value that lives apart from its record is never read with it; its token is.
  const shown = columns.filter((column) => (asTokens ? column.token !== undefined : column.token?.expires !== true))
  return { columns: shown, asked, asTokens }
}

function namedColumns(context: OperationContext, table: Table, names: readonly string[]): readonly Column[] {
  if (!Array.isArray(names) || names.length === 0)
    throw new VaultError('invalid_request', `${VERB} failed. fields must be a list of column names, or absent.`)
  return [...new Set(names)].map((name) => {
    const column = typeof name === 'string' ? visibleColumn(context.caller, table, name) : undefined
    if (column === undefined) throw unknownColumn(VERB, table.name, name)
    return column
  })
}

/** Rows and the public ids they go by, in the same order. */
interface FoundRows {
  readonly rows: readonly Row[]
  readonly ids: readonly string[]
}

function showRows(context: OperationContext, table: Table, { rows, ids }: FoundRows, show: Show): ShownRecord[] {
  const { barrier, caller } = context
  const views = columnViews(caller, show.columns, show.asked)
  if (!show.asTokens) {
    const shown = revealRows(barrier, table, rows, views)
    return ids.map((id, index) => ({ id, fields: shown[index] ?? {} }))
  }
  const columns = views.map((view) => view.column)
  const tokens = mintTokens(barrier.ring, columns, markedRows(context, table, rows, columns))
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

async function rowsById(context: OperationContext, table: Table, ids: readonly string[]): Promise<Row[]> {
  const positions = readIds(context.barrier.ring, table, ids)
  const known = positions.filter((row) => row !== undefined)
  const found = await context.storage.get(table.physical.name, known)
  const rows: Row[] = []
  const missing: number[] = []
  let next = 0
  positions.forEach((position, index) => {
    const row = position === undefined ? undefined : found[next++]
    if (row === undefined) missing.push(index)
    else rows.push(row)
  })
  if (missing.length > 0) throw recordsNotFound(table, VERB, ids, missing)
  return rows
}

/** Rows whose column holds one of the values, checked again on the opened value. */
async function rowsByValue(context: OperationContext, table: Table, options: GetOptions, page: Page): Promise<Row[]> {
  const { columnName, columnValues } = options
  if (!isGiven(columnName) || columnValues === undefined) {
    throw new VaultError('invalid_request', `${VERB} failed. columnName and columnValues go together. Give both or neither.`)
  }
  const asked = listOf(context, columnValues, VERB, 'columnValues')
  const column = visibleColumn(context.caller, table, columnName)
  if (column === undefined) throw unknownColumn(VERB, table.name, columnName)
  if (column.lookup === undefined) {
    throw new VaultError(
      'invalid_request',
      `${VERB} failed. Column ${column.name} of table ${table.name} cannot be looked up by value. Define it unique, searchable, or plain with an index.`,
      {
        table: table.name,
        column: column.name,
      },
    )
  }
  const values = asked.map((value, index) => lookupValue(table, column, value, index))
  const cells = lookupCells(context.barrier.ring, column, values)
  const rows = await context.storage.find(table.physical.name, { kind: 'in', column: column.lookup, values: cells }, page)
  if (column.lookup !== column.digest) return [...rows]
  const cursor = openRows(context.barrier, table, rows)
  const held = rows.map((_, index) => {
    cursor.to(index)
    return cursor.value(column)
  })
  // What a digest claims is proven on the opened value: a digest moved by hand brings no wrong record.
  const wanted = new Set(cells.map(keyOfCell))
  const proven = digestPresent(context.barrier.ring, column, held)
  return rows.filter((_, index) => wanted.has(keyOfCell(proven[index])))
}

function lookupValue(table: Table, column: Column, value: unknown, index: number): unknown {
  try {
    return typeof value === 'string' ? column.type.fromText(value) : column.type.parse(value)
  } catch (error) {
    if (!(error instanceof ValueFault)) throw error
    throw new VaultError(
      'rule_broken',
      `${VERB} failed. A value to look up in column ${column.name} of table ${table.name} ${error.message} (position ${index}).`,
      {
        table: table.name,
        column: column.name,
        index,
      },
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

function pageOf(context: OperationContext, options: GetOptions): Page {
  const order: unknown = options.orderBy ?? 'ASCENDING'
  if (order !== 'ASCENDING' && order !== 'DESCENDING' && order !== 'NONE') {
    throw new VaultError(
      'invalid_request',
      `${VERB} failed. orderBy must be ASCENDING, DESCENDING or NONE, not ${quotedName(order)}.`,
    )
  }
  const skip = wholeNumber(options.offset ?? 0, 'offset', 0, Number.MAX_SAFE_INTEGER)
  const limit = wholeNumber(options.limit ?? DEFAULT_PAGE, 'limit', 1, context.limits.page)
  return { order: order === 'DESCENDING' ? 'down' : 'up', skip, limit }
}

function wholeNumber(value: unknown, name: string, least: number, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value
  throw new VaultError('invalid_request', `${VERB} failed. ${name} must be a whole number from ${least} to ${most}.`, {
    grpcCode: 11,
  })
}

function isGiven(name: string | undefined): name is string {
  return name !== undefined && name !== ''
}
