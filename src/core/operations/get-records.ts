/** Get: records by their ids, by the value of a column, or page by page; as fields, or as tokens. */

import { unknownColumn } from '../barrier/record-errors.ts'
import { fault, words } from '../errors.ts'
import { parseFlag, parseInteger, parseList, parseRedaction, parseTable, toIds } from '../execution/check-input.ts'
import type { OperationContext, ParsingContext } from '../execution/context.ts'
import type { EventBuilder } from '../execution/event-builder.ts'
import {
  addShown,
  allOf,
  findRecords,
  type ListedIds,
  type ListedPage,
  type Where,
  type Which,
} from '../execution/find-records.ts'
import { requireAccess } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { type FilesToShow, withFiles } from '../execution/show-files.ts'
import { lookedUpBy, parseTerms } from '../execution/where-conditions.ts'
import { DEFAULT_PAGE_SIZE } from '../limits.ts'
import type { TableAccess } from '../policy/table-access.ts'
import type { Page } from '../ports/storage.ts'
import { showRecords, type UntypedRecord, withVersions } from '../records/show-records.ts'
import { REDACTIONS, type Redaction } from '../redaction.ts'
import { assertPlainText, ON_LOWERED, type OnLowered, parseOnLowered, type RowWithAccess } from '../row-access/evaluate-access.ts'
import type { Column } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { ALONE } from '../unit-of-work/gather.ts'
import { readInput } from '../util/boundary.ts'
import { append, at, required } from '../util/lists.ts'
import { assertOptions } from '../util/options.ts'
import { assertNotAborted, parseSignal, type Signal } from '../util/signal.ts'

/** How records are shown. Source: specification, "Records". */
export interface ReadOptions {
  /** The lower of this and the level granted is returned. Default DEFAULT: each column's own. */
  readonly redaction?: Redaction
  /** Return tokens in place of values. Not with a redaction other than DEFAULT. */
  readonly tokenization?: boolean
  /** Columns to return. Default: all that the caller can read. */
  readonly fields?: readonly string[]
  /**
   * `throw`: throw `forbidden` rather than return a record with masked or redacted fields, or without a column of `fields`. Not with
   * `tokenization`, nor with a redaction of MASKED or REDACTED.
   */
  readonly onLowered?: OnLowered
  /** Return a ticket to download each file that the caller can open, in `downloadTickets`. Default false. */
  readonly downloadTickets?: boolean
  /** Return the metadata of each file that the caller can read in plain text, in `fileMetadata`. Default false. */
  readonly returnFileMetadata?: boolean
  /** Return the `version` of each record, for `ifVersion` of a later change. Default false. */
  readonly version?: boolean
}

/** The records to read: by `ids`, by `where`, or page by page. */
export interface GetOptions extends ReadOptions {
  /** Not with `where`. Each must have a record, also beyond the page. */
  readonly ids?: readonly string[]
  /** Columns, and what each must have: a value, one of a list, null, or a value of a range. Source: docs/reading.md. */
  readonly where?: Where
  /** Records to skip. Default 0. Records that others delete shift what is skipped; `after` does not depend on them. */
  readonly offset?: number
  /** The `next` of an earlier page: returns the records after that page. Not with `offset` or `ids`. Source: docs/reading.md. */
  readonly after?: string | undefined
  /** Records to return at most. Default 25; of `ids`, all. */
  readonly limit?: number
  /**
   * ASCENDING or DESCENDING: the order of row ids, usually of insertion. Or a column, by rising values, or with its order. Default ASCENDING; of `ids`, their
   * own order, as with NONE.
   */
  readonly orderBy?: string | ColumnOrder
  /** Return `next` also when there is no further record, to look for later ones from there. Not with DESCENDING, a column or `ids`. Default false. */
  readonly resumable?: boolean
  /** An `AbortSignal`. When it is aborted, the read throws `cancelled` before the next rows are read from the storage. */
  readonly signal?: Signal
}

/** The order of records by the values of a column: rising ones end with those without a value, falling ones begin with them. Those with equal values are in the order of row ids. */
export interface ColumnOrder<Name extends string = string> {
  readonly column: Name
  /** Default ASCENDING. */
  readonly order?: 'ASCENDING' | 'DESCENDING'
}

/** Records as a read returns them. */
export interface GetResult {
  readonly records: UntypedRecord[]
  /** The cursor of the next page. Absent if there was no further record, unless the read is `resumable`, and for `ids`. */
  readonly next?: string
}

const READ_OPTIONS = [
  'redaction',
  'tokenization',
  'fields',
  'onLowered',
  'downloadTickets',
  'returnFileMetadata',
  'version',
] as const
const PAGE_OPTIONS = ['offset', 'after', 'limit', 'orderBy', 'resumable', 'signal'] as const
const GET_OPTIONS = [...READ_OPTIONS, 'ids', 'where', ...PAGE_OPTIONS] as const
const ORDERS = ['ASCENDING', 'DESCENDING', 'NONE'] as const

/** The options of both operations that events record. */
const RECORDED_SHOW = {
  table: 'name',
  redaction: REDACTIONS,
  tokenization: 'flag',
  fields: 'columns',
  onLowered: ON_LOWERED,
  downloadTickets: 'flag',
  returnFileMetadata: 'flag',
  version: 'flag',
} as const

/** Input of a read of several records. */
export interface GetInput {
  readonly table: string
  readonly options?: GetOptions
  /** Read each value of `where` as the text of a value of its column, as a wire has it. Default false: a value is itself. */
  readonly areTexts?: boolean
  /** Show each value as its text, as a file of texts has it. Null stays null. Default false. */
  readonly asTexts?: boolean
}

/** Input of a read of one record. */
export interface GetOneInput {
  readonly table: string
  readonly id: string
  readonly options?: ReadOptions
}

/** A parsed request, before grants are checked. */
export interface GetRequest {
  readonly table: Table
  readonly redaction: Redaction
  readonly asTokens: boolean
  readonly asTexts?: boolean
  readonly refusesLowered: boolean
  readonly files: FilesToShow
  readonly hasVersion: boolean
  readonly fields: readonly unknown[] | undefined
  readonly which: Which
}

/** Returns records in the order of insertion, or of `ids`. Throws `not_found` for an id without a record. */
export const get: Operation<GetInput, GetRequest, GetResult> = {
  action: 'GET',
  resourceType: 'RECORD',
  verb: 'Get',
  members: ['table', 'options', 'areTexts', 'asTexts'],
  recorded: {
    ...RECORDED_SHOW,
    ids: 'value',
    where: 'lookup',
    offset: 'number',
    after: 'value',
    limit: 'number',
    orderBy: 'order',
    resumable: 'flag',
    signal: 'omitted',
    areTexts: 'omitted',
    asTexts: 'omitted',
  },
  parse({ table, options = {}, areTexts, asTexts }, context) {
    assertOptions<GetOptions>(options, GET_OPTIONS, { note: 'Name records by { ids }, or by { where: { column: value } }.' })
    return {
      ...parseShow(table, options, context),
      asTexts: parseFlag(asTexts, 'asTexts'),
      which: parseWhich(options, parseTable(context, table), { ...context, areTexts: parseFlag(areTexts, 'areTexts') }),
    }
  },
  execute: (context, request) => readRecords(context, request),
  asOne: {
    keys: { turn: keyOfFew },
    async execute(context, requests, events) {
      const found = await readTogether(context, requests, events)
      return found.map((records) => (records === undefined ? ALONE : { records }))
    },
  },
}

/** Returns one record by its id. Throws `not_found`. */
export const getOne: Operation<GetOneInput, GetRequest, UntypedRecord> = {
  action: 'GET',
  resourceType: 'RECORD',
  verb: 'Get',
  members: ['table', 'id', 'options'],
  recorded: { ...RECORDED_SHOW, id: 'value' },
  parse({ table, id, options = {} }, context) {
    assertOptions<ReadOptions>(options, READ_OPTIONS)
    return { ...parseShow(table, options, context), which: allOf(toIds([id])) }
  },
  execute: async (context, request) => required((await readRecords(context, request)).records[0], 'A record that was read'),
  asOne: {
    keys: { turn: keyOfFew, batch: (request) => (request.fields === undefined ? keyOf(request) : undefined) },
    async execute(context, requests, events) {
      const found = await readTogether(context, requests, events)
      return found.map((records) => records?.[0] ?? ALONE)
    },
  },
}

/** Maximum number of records of a read that is joined with others. */
const MAX_IDS_TO_JOIN = 16

/** Returns the key of a read of few records by their ids. A read with tickets runs by itself, because they contain the caller. */
function keyOfFew(request: GetRequest): string | undefined {
  const { refusesLowered, files, fields, which } = request
  const isSimple = fields === undefined && !refusesLowered && !files.downloadTickets && 'ids' in which && isWhole(which)
  return isSimple && which.ids.length <= MAX_IDS_TO_JOIN ? keyOf(request) : undefined
}

/** Returns the same text for reads of one table with the same options. */
function keyOf({ table, redaction, asTokens, asTexts, refusesLowered, files, hasVersion }: GetRequest): string {
  return `${table.name} ${redaction} ${asTokens} ${asTexts} ${refusesLowered} ${files.downloadTickets} ${files.returnFileMetadata} ${hasVersion}`
}

/** True for a read of every record, in the order of the ids. */
function isWhole({ order, offset = 0, limit }: ListedIds): boolean {
  return order === undefined && offset === 0 && limit === undefined
}

/** Returns the records of each request, and adds their rows to its event; undefined for a request with an id without a record. */
async function readTogether(
  context: OperationContext,
  requests: readonly GetRequest[],
  events: readonly EventBuilder[],
): Promise<(UntypedRecord[] | undefined)[]> {
  const idsOf = requests.map(({ which }) => ('ids' in which ? which.ids : []))
  const found: RowWithAccess[] = []
  const which = { ...allOf(idsOf.flat()), skipsMissing: true }
  const { records: shown } = await readRecords(context, { ...at(requests, 0), which }, (rows) => append(found, rows))
  let next = 0
  return idsOf.map((ids, index) => {
    const begin = next
    // Records are in the order of the ids, so the next one belongs to this id or to a later one.
    for (const id of ids) if (shown[next]?.id === id) next++
    if (next - begin < ids.length) return undefined
    const request = at(requests, index)
    addShown(at(events, index), { ...request, columns: columnsShown(request) }, found.slice(begin, next))
    return shown.slice(begin, next)
  })
}

function parseShow(name: unknown, options: ReadOptions, context: ParsingContext): Omit<GetRequest, 'which'> {
  const table = parseTable(context, name)
  const redaction = parseRedaction(options.redaction)
  const asTokens = parseFlag(options.tokenization, 'tokenization')
  if (asTokens && redaction !== 'DEFAULT')
    throw fault('invalid_request')`tokenization cannot be combined with a redaction other than DEFAULT.`
  const refusesLowered = parseOnLowered(options.onLowered, redaction)
  if (asTokens && refusesLowered) throw fault('invalid_request')`onLowered cannot be combined with tokenization.`
  const { fields } = options
  if (fields !== undefined && (!Array.isArray(fields) || fields.length === 0))
    throw fault('invalid_request')`fields must be a non-empty array of column names.`
  const files = {
    downloadTickets: parseFlag(options.downloadTickets, 'downloadTickets'),
    returnFileMetadata: parseFlag(options.returnFileMetadata, 'returnFileMetadata'),
  }
  return { table, redaction, asTokens, refusesLowered, files, hasVersion: parseFlag(options.version, 'version'), fields }
}

/** The dependencies of parsing, and whether values are texts. */
interface ParsingValues extends ParsingContext {
  readonly areTexts: boolean
}

function parseWhich(options: GetOptions, table: Table, context: ParsingValues): Which {
  const { where, orderBy } = options
  const by = parseOrderColumn(orderBy)
  if (options.ids !== undefined) {
    if (where !== undefined) throw fault('invalid_request')`ids cannot be combined with where.`
    if (by !== undefined) throw fault('invalid_request')`ids cannot be combined with an order by a column.`
    assertNoCursor(options)
    assertNotAborted(parseSignal(options.signal))
    const { limit } = options
    const ids = toIds(parseList(context, options.ids, 'ids'))
    const page = parsePage(context, options)
    const order = orderBy === undefined || orderBy === 'NONE' ? undefined : page.order
    return { ids, order, offset: page.offset, limit: limit === undefined ? undefined : page.limit }
  }
  const listed = parseListedPage(context, options, by)
  if (where === undefined && by === undefined) return { ...listed, lookup: undefined }
  const { areTexts } = context
  const terms = where === undefined ? [] : parseTerms(context, where)
  const lookup = by === undefined ? lookedUpBy(table, terms, areTexts) : undefined
  return lookup === undefined ? { ...listed, terms, by, areTexts } : { ...listed, lookup: { ...lookup, areTexts } }
}

/** Returns the name of the column that orders records; undefined for the order of row ids. */
function parseOrderColumn(orderBy: GetOptions['orderBy']): string | undefined {
  if (orderBy === undefined || (typeof orderBy === 'string' && ORDERS.some((order) => order === orderBy))) return undefined
  if (typeof orderBy === 'string') return orderBy
  assertOptions<ColumnOrder>(orderBy, ['column', 'order'], { member: 'orderBy' })
  if (typeof orderBy.column === 'string') return orderBy.column
  throw fault('invalid_request')`orderBy.column must be the name of a column.`
}

/** Returns a page without what is looked up. */
function parseListedPage(context: ParsingContext, options: GetOptions, by: string | undefined): Omit<ListedPage, 'lookup'> {
  const { after } = options
  const page = parsePage(context, options)
  if (after !== undefined && typeof after !== 'string')
    throw fault('invalid_request')`after must be a cursor: the next of an earlier page.`
  if (after !== undefined && options.offset !== undefined) throw fault('invalid_request')`after cannot be combined with offset.`
  const isResumable = parseFlag(options.resumable, 'resumable')
  if (isResumable && by !== undefined)
    throw fault(
      'invalid_request',
    )`resumable cannot be combined with an order by a column: later records can come before its last page.`
  if (isResumable && page.order === 'desc')
    throw fault(
      'invalid_request',
    )`resumable cannot be combined with orderBy DESCENDING: later records come before its first page.`
  return { page, after, isResumable, signal: parseSignal(options.signal) }
}

/** Returns the records of a request in order. `take` gets their rows in place of the event. */
async function readRecords(
  context: OperationContext,
  request: GetRequest,
  take?: (rows: readonly RowWithAccess[]) => void,
): Promise<GetResult> {
  const { table, which, redaction, asTokens, asTexts = false, refusesLowered, fields, files, hasVersion } = request
  const access = requireAccess(context, table, 'READ')
  const columns = fields === undefined ? columnsShown(request) : readInput(() => namedColumns(access, request, fields))
  const show = { table, columns, redaction, asTokens, asTexts }
  const wanted = take === undefined ? whichOf(request) : which
  // The event of one row can be stored with its read. No condition decides then, so every row is shown alike.
  if ('decides' in wanted && !asTokens && access.conditions.length === 0)
    context.event.addViews(access.forRow([]).views(columns, redaction))
  const found = await findRecords(context, access, wanted)
  if (refusesLowered) {
    const views = found.rows.map(({ access }) => access.views(columns, redaction))
    assertPlainText({ table, views, named: fields === undefined ? undefined : columns })
  }
  if (take === undefined) addShown(context.event, show, found.rows)
  else take(found.rows)
  const showing = showRecords(context, found, show)
  const unversioned = Array.isArray(showing) ? showing : await showing
  const shown = hasVersion ? withVersions(context.barrier, found.rows, { table, shown: unversioned }) : unversioned
  const records =
    files.downloadTickets || files.returnFileMetadata
      ? await withFiles(context, found.rows, { table, shown, columns: filesAmong(table, fields), ...files })
      : shown
  return found.next === undefined ? { records } : { records, next: found.next }
}

/** Returns the records to read, and whether one that exists decides that the read succeeds. */
function whichOf({ which, refusesLowered, files }: GetRequest): Which {
  const decides = !refusesLowered && !files.downloadTickets && !files.returnFileMetadata
  return decides && 'ids' in which && which.ids.length === 1 && isWhole(which) ? { ...which, decides } : which
}

/** Returns the columns that a request can show. A transient value is never read with its record, but its token is. */
function columnsShown({ table, asTokens }: GetRequest): readonly Column[] {
  return asTokens ? table.tokenized : table.readable
}

/** Returns those that it names. */
function namedColumns(access: TableAccess, request: GetRequest, fields: readonly unknown[]): readonly Column[] {
  const { table } = request
  const shown = columnsShown(request)
  const named = [...new Set(fields)].map((name) => {
    const column = typeof name === 'string' ? table.byName.get(name) : undefined
    if (column === undefined || !access.possiblyVisible(column)) throw unknownColumn(table.name, name)
    return column
  })
  return named.filter((column) => shown.includes(column))
}

/** Returns the columns of a request that hold files. */
function filesAmong({ files }: Table, fields: readonly unknown[] | undefined): readonly Column[] {
  return fields === undefined ? files : files.filter(({ name }) => fields.includes(name))
}

/** Throws `invalid_request` for members of a read page by page. */
function assertNoCursor({ after, resumable }: GetOptions): void {
  const named = after !== undefined ? 'after' : parseFlag(resumable, 'resumable') ? 'resumable' : undefined
  if (named !== undefined) throw fault('invalid_request')`ids cannot be combined with ${words(named)}.`
}

function parsePage({ limits }: ParsingContext, options: GetOptions): Page {
  const { orderBy = 'ASCENDING' } = options
  const order = typeof orderBy === 'string' ? orderBy : (orderBy.order ?? 'ASCENDING')
  if (typeof orderBy === 'object' && order !== 'ASCENDING' && order !== 'DESCENDING')
    throw fault('invalid_request')`orderBy.order must be ASCENDING or DESCENDING.`
  return {
    order: order === 'DESCENDING' ? 'desc' : 'asc',
    offset: parseInteger(options.offset ?? 0, 'offset', [0, Number.MAX_SAFE_INTEGER]),
    limit: parseInteger(options.limit ?? DEFAULT_PAGE_SIZE, 'limit', [1, limits.maxPageSize]),
  }
}
