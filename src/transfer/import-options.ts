/** What an import is of and how, what it reports while it runs, and what it did. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { VaultError } from '../core/errors.ts'
import { errorCode } from '../core/util/causes.ts'
import { assertOptions } from '../core/util/options.ts'
import type { ErrorCode, Signal } from '../index.ts'
import type { ColumnMapping } from './column-mapping.ts'
import { isDelimiter } from './csv-records.ts'
import { EMPTY_VALUES, type EmptyValue, invalid } from './value-formats.ts'

/** A record that was not stored. Nothing in it is a value. */
export interface Reject {
  /** Position in the source, from 1, without the header. */
  readonly record: number
  /** The line of the source on which the record begins, from 1. */
  readonly line: number
  readonly column?: string
  readonly code: ErrorCode
  readonly reason: string
}

/** How far an import is. */
export interface ImportProgress {
  /** Records of the source that are done, with those of earlier runs. */
  readonly records: number
  /** Those that were rejected. */
  readonly rejected: number
  /** Bytes that were read, and bytes in all where they are known. */
  readonly bytes: number
  readonly totalBytes?: number
}

/** What an import is of, and how. */
export interface ImportOptions {
  readonly table: string
  /** The path of a file, or what yields its bytes. It is read from its beginning, also by an import that goes on. */
  readonly source: string | URL | AsyncIterable<Uint8Array>
  readonly format: 'csv' | 'ndjson'
  /**
   * Identifies the import with its table, up to 500 characters. Run again by the same name it goes on behind the last batch that was stored, and stores
   * nothing twice. Without a name it keeps no place.
   */
  readonly name?: string
  /** Names the source in the place of the import. Default: the name of the file. */
  readonly sourceName?: string
  /** Which field goes where. Default: fields have the names of columns. A list: the source is CSV without a header. */
  readonly columns?: ColumnMapping
  /** The character between two fields of CSV. Default a comma. */
  readonly delimiter?: string
  /** Leave out white space around values. Default false. */
  readonly trim?: boolean
  /** What empty values are. Default `unquoted`. */
  readonly empty?: EmptyValue
  /** A unique column, or the columns that are unique together: a record that holds the same values there is updated instead. */
  readonly upsert?: string | readonly string[]
  /** Accept `*REDACTED*` and masked forms as values. Default false. */
  readonly allowShownText?: boolean
  /** Check every record, and store nothing. Default false. */
  readonly dryRun?: boolean
  /** Records of a batch, at most `limits.maxRecords` of the vault. Default 1,000. */
  readonly batchSize?: number
  /**
   * Called for each record that is not stored, in order. A promise is waited for. An import that goes on calls it again for those of the last batch, with
   * `isRepeated`: the run before can have ended before it passed them on.
   */
  readonly onReject?: (reject: Reject, from: { readonly isRepeated: boolean }) => unknown
  /** Called after each batch. A promise is waited for. */
  readonly onProgress?: (progress: ImportProgress) => unknown
  /** An `AbortSignal`. The import ends before the next batch, with `cancelled`. Run again it goes on. */
  readonly signal?: Signal
}

/** What an import did. */
export interface ImportSummary {
  /** Records of the source. */
  readonly records: number
  /** Records that this run stored, or with `dryRun` would have. */
  readonly stored: number
  /** Records that this run rejected. */
  readonly rejected: number
  /** Records that earlier runs of this import had done, and those of them that were rejected. */
  readonly skipped: number
  readonly rejectedBefore: number
}

const OPTION_NAMES = [
  'table',
  'source',
  'format',
  'name',
  'sourceName',
  'columns',
  'delimiter',
  'trim',
  'empty',
  'upsert',
  'allowShownText',
  'dryRun',
  'batchSize',
  'onReject',
  'onProgress',
  'signal',
] as const

const DEFAULT_BATCH = 1000

/** Bytes that are read from a file at once. */
const CHUNK_BYTES = 256 * 1024

/** Options that were checked, with their defaults. */
export type CheckedImport = ImportOptions & Required<Pick<ImportOptions, 'batchSize' | 'delimiter' | 'trim' | 'empty' | 'dryRun'>>

/** Throws `invalid_request` for an option that is not as described. */
export function checkImport(options: ImportOptions): CheckedImport {
  assertOptions<ImportOptions>(options, OPTION_NAMES, { of: 'importRecords' })
  const { format, batchSize = DEFAULT_BATCH, delimiter = ',', empty = 'unquoted', trim = false, dryRun = false } = options
  if (format !== 'csv' && format !== 'ndjson') throw invalid('format', 'must be csv or ndjson')
  if (!Number.isSafeInteger(batchSize) || batchSize < 1) throw invalid('batchSize', 'must be a whole number from 1')
  if (!isDelimiter(delimiter)) throw invalid('delimiter', 'must be one character, and no quote or line end')
  if (!EMPTY_VALUES.includes(empty)) throw invalid('empty', 'must be unquoted, null or text')
  for (const [name, flag] of Object.entries({ trim, dryRun }))
    if (typeof flag !== 'boolean') throw invalid(name, 'must be true or false')
  return { ...options, batchSize, delimiter, empty, trim, dryRun }
}

/** A source whose bytes can be read. */
interface OpenedSource {
  readonly bytes: AsyncIterable<Uint8Array>
  readonly totalBytes?: number
  readonly sourceName: string
}

/** Opens a file, or takes what yields bytes. Throws `invalid_request` for a file that cannot be read. */
export async function openSource({ source, sourceName = '' }: ImportOptions): Promise<OpenedSource> {
  if (typeof source !== 'string' && !(source instanceof URL)) return { bytes: source, sourceName }
  try {
    const { size } = await stat(source)
    const name = String(source).split(/[\\/]/).at(-1) ?? ''
    return { bytes: bytesOfFile(source), totalBytes: size, sourceName: sourceName === '' ? name : sourceName }
  } catch (error) {
    throw unreadable(error)
  }
}

/** Opens the file when it is read: a stream that is not read yet would end the process by its error, or stay open. */
async function* bytesOfFile(source: string | URL): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(source, { highWaterMark: CHUNK_BYTES })
  } catch (error) {
    throw unreadable(error)
  }
}

function unreadable(error: unknown): VaultError {
  return new VaultError('invalid_request', `Import failed. The source cannot be read (${errorCode(error) ?? 'unknown'}).`)
}
