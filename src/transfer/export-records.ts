/** Exports records as CSV or NDJSON, page by page, at the levels of the caller. */
import { VaultError } from '../core/errors.ts'
import { assertOptions } from '../core/util/options.ts'
import type { OperationInput, OperationResult, Redaction, Signal } from '../index.ts'
import { isDelimiter } from './csv-records.ts'

type Input = OperationInput<'get'>
type Page = OperationResult<'get'>

/** What an export needs of a session: one in process, or of a client. */
export interface ExportSession {
  perform(name: 'get', input: Input): Promise<Page>
}

/** What to export, and how. */
export interface ExportOptions {
  readonly table: string
  readonly format: 'csv' | 'ndjson'
  /** The columns, in this order. Default: all that the caller can read, in the order of the schema. */
  readonly columns?: readonly string[]
  /** A look-up column and a value, or a list of values. Default: all records. */
  readonly where?: NonNullable<Input['options']>['where']
  /** Read each value of `where` as the text of a value of its column. Default false: a value is itself. */
  readonly areTexts?: boolean
  /** The lower of this and the level granted is written. Default: each column's own. */
  readonly redaction?: Redaction
  /** Write tokens in place of values. Default false. */
  readonly tokenization?: boolean
  /** `throw`: end with `forbidden` rather than write a masked or redacted value. */
  readonly onLowered?: 'throw'
  /** The name of a column for the ids of the records. Absent: ids are not written. */
  readonly idName?: string
  /** The character between two fields of CSV. Default a comma. */
  readonly delimiter?: string
  /** Records of a page, at most `limits.maxPageSize` of the vault. Default 1,000. */
  readonly pageSize?: number
  /** Called after each page with the records that were written. A promise is waited for. */
  readonly onProgress?: (progress: { readonly records: number }) => unknown
  /** An `AbortSignal`. The export ends with `cancelled`. */
  readonly signal?: Signal
}

const OPTION_NAMES = [
  'table',
  'format',
  'columns',
  'where',
  'areTexts',
  'redaction',
  'tokenization',
  'onLowered',
  'idName',
  'delimiter',
  'pageSize',
  'onProgress',
  'signal',
] as const

const DEFAULT_PAGE = 1000

/**
 * Yields the bytes of an export in UTF-8, a page at a time. A record that was stored before the first page is written once, whatever others insert, change
 * or delete meanwhile. Each page is a read with an event of its own. CSV has a header, CRLF, quotes where RFC 4180 needs them, nothing for null and `""` for
 * empty text; `importRecords` reads it back. Values are not altered, also where a spreadsheet takes them for formulas. Throws what a read throws.
 */
export async function* exportRecords(session: ExportSession, options: ExportOptions): AsyncGenerator<Uint8Array, undefined> {
  const { pageSize = DEFAULT_PAGE, onProgress, ...checked } = checkExport(options)
  const write = checked.format === 'csv' ? csvWriter(checked) : jsonWriter(checked)
  let records = 0
  for (let after: string | undefined; ; ) {
    const page = await session.perform('get', inputOf(checked, pageSize, after))
    const text = write(page.records)
    if (text !== '') yield UTF8.encode(text)
    records += page.records.length
    await onProgress?.({ records })
    if (page.next === undefined) return undefined
    after = page.next
  }
}

/** Returns the text of the records of a page. */
type WritePage = (records: Page['records']) => string

function jsonWriter({ idName, columns }: ExportOptions): WritePage {
  return (records) =>
    records
      .map(({ id, fields }) => {
        const shown = ordered(fields, columns)
        return `${JSON.stringify(idName === undefined ? shown : { [idName]: id, ...shown })}\n`
      })
      .join('')
}

/** Writes the header before the first record, or, where the columns are named, without any. */
function csvWriter({ idName, columns: named, delimiter = ',' }: ExportOptions): WritePage {
  const line = (id: string | undefined, cells: readonly (string | null)[]): string =>
    csvLine(id === undefined ? cells : [id, ...cells], delimiter)
  let columns = named
  let hasHeader = false
  return (records) => {
    const [first] = records
    if (columns === undefined && first !== undefined) columns = Object.keys(first.fields)
    if (columns === undefined) return ''
    const shown = columns
    const header = hasHeader ? '' : line(idName, shown)
    hasHeader = true
    return header + records.map(({ id, fields }) => line(idName && id, cellsOf(fields, shown))).join('')
  }
}

const UTF8 = new TextEncoder()

function checkExport(options: ExportOptions): ExportOptions {
  assertOptions<ExportOptions>(options, OPTION_NAMES, { of: 'exportRecords' })
  const { format, delimiter = ',', idName, columns } = options
  if (format !== 'csv' && format !== 'ndjson') throw invalid('format', 'must be csv or ndjson')
  if (!isDelimiter(delimiter)) throw invalid('delimiter', 'must be one character, and no quote or line end')
  if (idName !== undefined && (typeof idName !== 'string' || idName === '' || columns?.includes(idName) === true))
    throw invalid('idName', 'must be a name that no exported column has')
  return options
}

function invalid(name: string, problem: string): VaultError {
  return new VaultError('invalid_request', `Export failed. Option ${name} ${problem}.`)
}

function inputOf(options: ExportOptions, limit: number, after: string | undefined): Input {
  const { table, format, columns, where, areTexts = false, redaction, tokenization, onLowered, signal } = options
  return {
    table,
    areTexts,
    asTexts: format === 'csv' && tokenization !== true,
    options: {
      limit,
      ...(after !== undefined && { after }),
      ...(columns !== undefined && { fields: columns }),
      ...(where !== undefined && { where }),
      ...(redaction !== undefined && { redaction }),
      ...(tokenization !== undefined && { tokenization }),
      ...(onLowered !== undefined && { onLowered }),
      ...(signal !== undefined && { signal }),
    },
  }
}

type Fields = Page['records'][number]['fields']

/** Returns the fields in the order that was asked for. */
function ordered(fields: Fields, columns: readonly string[] | undefined): Fields {
  if (columns === undefined) return fields
  return Object.fromEntries(columns.flatMap((name) => (Object.hasOwn(fields, name) ? [[name, fields[name] ?? null]] : [])))
}

/** Returns the cell of each column: null for one that the record does not show. */
function cellsOf(fields: Fields, columns: readonly string[]): (string | null)[] {
  for (const name of Object.keys(fields)) {
    if (!columns.includes(name))
      throw new VaultError(
        'failed_precondition',
        `Export failed. Records show different columns. Name them in columns, or export NDJSON.`,
      )
  }
  return columns.map((name) => {
    const value = fields[name]
    return value === undefined || value === null ? null : String(value)
  })
}

function csvLine(cells: readonly (string | null)[], delimiter: string): string {
  return `${cells.map((cell) => quoted(cell, delimiter)).join(delimiter)}\r\n`
}

function quoted(cell: string | null, delimiter: string): string {
  if (cell === null) return ''
  if (cell !== '' && !NEEDS_QUOTES.test(cell) && !cell.includes(delimiter)) return cell
  return `"${cell.replaceAll('"', '""')}"`
}

const NEEDS_QUOTES = /["\r\n]/
