/** A source as an import reads it: records of either format, mapped to the columns of the table. */
import { isVaultError } from '../core/errors.ts'
import { isList } from '../core/util/lists.ts'
import { assertNotAborted } from '../core/util/signal.ts'
import type { ErrorCode, Signal } from '../index.ts'
import {
  type ColumnMapping,
  csvMapping,
  csvMappingByPosition,
  type Defaults,
  jsonMapping,
  type MappedRecord,
  type Problem,
} from './column-mapping.ts'
import { type CsvRecord, CsvRecords } from './csv-records.ts'
import type { CheckedImport } from './import-options.ts'
import { readJsonLines } from './json-lines.ts'
import { refusedSource, SourceText } from './source-text.ts'
import { invalid } from './value-formats.ts'

/** A record that was read: for the vault, or refused. */
export interface ReadRecord {
  readonly line: number
  readonly record?: MappedRecord
  readonly refused?: { readonly column?: string; readonly code: ErrorCode; readonly reason: string }
}

/** A source that is open. */
export interface RecordSource {
  /** True if strings are the texts of values. */
  readonly areTexts: boolean
  readonly hasTokens: boolean
  /** The columns that all records have; undefined where each record names its own. */
  readonly columns: readonly string[] | undefined
  /** Bytes that were taken from the source. */
  readonly bytes: number
  /** Returns the next records, at most `limit`; none at the end. */
  read(limit: number): Promise<ReadRecord[]>
  /** Reads over records. Throws if there are fewer. */
  skip(count: number, signal: Signal | undefined): Promise<void>
  /** Returns the SHA-256 of the text that was read. */
  digest(): string
  /** Returns an error of the vault about a column with the field of the source that it is about. */
  explained(error: unknown): unknown
  close(): Promise<void>
}

/** Records that are read over at once. */
const SKIPPED = 5000

/** Opens a source, and reads the header of a CSV one. Throws `invalid_request` for a header or a mapping that does not fit. */
export async function openRecords(bytes: AsyncIterable<Uint8Array>, options: CheckedImport): Promise<RecordSource> {
  const { format, trim, empty, table, columns = {} } = options
  const text = new SourceText(bytes)
  const defaults: Defaults = { trim, empty, form: format === 'csv' ? 'texts' : 'values' }
  const reader = format === 'csv' ? await openCsv(text, options, defaults) : openJson(text, columns, defaults)
  const { read } = reader
  return {
    areTexts: format === 'csv',
    hasTokens: reader.hasTokens,
    columns: reader.columns?.map(({ name }) => name),
    get bytes() {
      return text.bytes
    },
    read: (limit) => read(limit, true),
    async skip(count, signal) {
      for (let left = count; left > 0; ) {
        assertNotAborted(signal)
        const skipped = await read(Math.min(left, SKIPPED), false)
        if (skipped.length === 0)
          throw refusedSource(text.line, `the source ends here, and ${left} more of its records were imported before.`)
        left -= skipped.length
      }
    },
    digest: () => text.digest(),
    explained(error) {
      const index = isVaultError(error, 'invalid_request') ? error.details[0]?.index : undefined
      const field = index === undefined ? undefined : reader.columns?.[index]?.field
      return field === undefined
        ? error
        : refusedSource(1, `field ${field} is for no column of table "${table}". Map it in columns, to null to leave it out.`)
    },
    close: () => text.close(),
  }
}

/** What reads one format. `maps`: false for records that are only read over. */
interface FormatReader {
  readonly hasTokens: boolean
  readonly columns?: readonly { readonly name: string; readonly field: number }[]
  readonly read: (limit: number, maps: boolean) => Promise<ReadRecord[]>
}

async function openCsv(
  text: SourceText,
  { columns = {}, delimiter }: Pick<CheckedImport, 'columns' | 'delimiter'>,
  defaults: Defaults,
): Promise<FormatReader> {
  const records = new CsvRecords(text, delimiter)
  const mapping = isList(columns)
    ? csvMappingByPosition(columns, defaults)
    : csvMapping(await readHeader(records), columns, defaults)
  const { width } = mapping
  const mapped = (record: CsvRecord): ReadRecord => {
    const { line, fields, problem } = record
    if (problem !== undefined) return refused(line, { problem })
    if (fields.length !== width) return refused(line, { problem: `The record has ${fields.length} fields in place of ${width}.` })
    return toRead(line, mapping.map(record))
  }
  return {
    hasTokens: mapping.hasTokens,
    columns: mapping.columns,
    async read(limit, maps) {
      const found = await records.read(limit, width === 1)
      return maps ? found.map(mapped) : found
    },
  }
}

async function readHeader(records: CsvRecords): Promise<readonly string[]> {
  const [header] = await records.read(1, true)
  if (header === undefined) throw refusedSource(1, 'the source is empty. It must have a header.')
  if (header.problem !== undefined) throw refusedSource(header.line, header.problem)
  return header.fields
}

function openJson(text: SourceText, columns: ColumnMapping, defaults: Defaults): FormatReader {
  if (isList(columns)) throw invalid('columns', 'is a list, and members of NDJSON have names')
  const mapping = jsonMapping(columns, defaults)
  return {
    hasTokens: mapping.hasTokens,
    async read(limit, maps) {
      const found = await readJsonLines(text, limit)
      if (!maps) return found
      return found.map(({ line, members, problem = '' }) =>
        members === undefined ? refused(line, { problem }) : toRead(line, mapping.map(members)),
      )
    },
  }
}

function toRead(line: number, mapped: MappedRecord | Problem): ReadRecord {
  return 'problem' in mapped ? refused(line, mapped) : { line, record: mapped }
}

function refused(line: number, { column, problem }: Problem): ReadRecord {
  if (column === undefined) return { line, refused: { code: 'invalid_request', reason: problem } }
  return { line, refused: { column, code: 'unprocessable', reason: `Column "${column}" ${problem}.` } }
}
