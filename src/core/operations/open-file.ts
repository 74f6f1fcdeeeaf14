/** Open file: the content of a file as a stream, whole or in part. */

import { type ErrorCode, type Fault, fault } from '../errors.ts'
import type { OperationContext } from '../execution/context.ts'
import {
  assertContentsReachable,
  type FileInput,
  type FileRequest,
  type OpenableFile,
  parseFileInput,
  RECORDED_FILE,
  requireFileColumn,
  requireOpenableFile,
} from '../execution/file-columns.ts'
import { invalidTicket, refusedAlike, requireTicket, type Ticket } from '../execution/file-tickets.ts'
import { requireAccess } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { withVerbOf } from '../execution/perform.ts'
import { readContent } from '../file-store/read-content.ts'
import { type FileMetadata, metadataOf } from '../files/file-metadata.ts'
import type { ByteRange } from '../ports/blobs.ts'
import { assertOptions } from '../util/options.ts'
import { assertNotAborted, parseSignal, type Signal } from '../util/signal.ts'

/** Options of opening a file. */
export interface OpenFileOptions {
  /**
   * The part to read, in bytes from 0; `end` is the offset after the last byte. Or the `last` bytes, at least 1; a shorter file whole.
   * Default: the whole file.
   */
  readonly range?: { readonly start: number; readonly end?: number } | { readonly last: number }
  /** An `AbortSignal`. When it is aborted, the stream throws `cancelled` in place of its next chunk. */
  readonly signal?: Signal
}

/** Input of opening a file. */
export interface OpenFileInput extends FileInput {
  readonly options?: OpenFileOptions
}

/** A file opened. */
export interface OpenFileResult {
  /**
   * Yields the bytes, and can be read once: `for await`, `Readable.from(stream)` or `ReadableStream.from(stream)`. It throws `data_loss`
   * at content that was changed in the store, and `aborted` if the file was deleted meanwhile.
   */
  readonly stream: AsyncIterable<Uint8Array>
  readonly metadata: FileMetadata
  /** Length of the whole file in bytes. */
  readonly size: number
  /** The bytes that the stream yields. */
  readonly range: ByteRange
}

/** What events record of the options. */
const RECORDED_OPENING = { range: { start: 'number', end: 'number', last: 'number' }, signal: 'omitted' } as const

/** The bytes that are asked for, before the length of the file is known: from an offset, or the last ones. */
type WantedRange = { readonly start: number; readonly end: number | undefined } | { readonly last: number }

/** A parsed request, before grants are checked. */
export interface OpenFileRequest extends FileRequest {
  readonly range: WantedRange
  readonly signal: Signal | undefined
  /** The row id that the file must have, by its ticket. */
  readonly onlyFile: number | undefined
}

/** Opens a file. Needs READ in plain text on its column. Throws `failed_precondition` for a file that is not clean while a scanner is set. */
export const openFile: Operation<OpenFileInput, OpenFileRequest, OpenFileResult> = {
  action: 'OPEN_FILE',
  resourceType: 'FILE',
  verb: 'Open file',
  members: ['table', 'id', 'column', 'options'],
  recorded: { ...RECORDED_FILE, ...RECORDED_OPENING },
  parse({ options = {}, ...file }, context) {
    const request = parseFileInput(file, context)
    return { ...request, ...parseOpening(options), onlyFile: undefined }
  },
  execute: openStream,
}

/** Returns the operation that opens the file of a ticket; `ticket` is undefined if the text was none. Every refusal is the same `not_found`. */
export function openByTicket(
  ticket: Ticket | undefined,
): Operation<Pick<OpenFileInput, 'options'>, OpenFileRequest, OpenFileResult> {
  return {
    ...openFile,
    members: ['options'],
    recorded: RECORDED_OPENING,
    parse({ options = {} }, context) {
      const opening = parseOpening(options)
      const { table: name, id, column, file } = requireTicket(ticket)
      const table = context.layout.tables.get(name)
      if (table === undefined || id === undefined) throw invalidTicket()
      context.event.setTable(table)
      return { table, id, column, ...opening, onlyFile: file }
    },
    execute: (context, request) => refusedAlike(REFUSALS, () => openStream(context, request)),
  }
}

/** What a ticket's owner does not learn: that the file, its record or a grant is gone, or that the file is not clean. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'not_found',
  'forbidden',
  'invalid_request',
  'failed_precondition',
  'unprocessable',
])

function parseOpening(options: unknown): Pick<OpenFileRequest, 'range' | 'signal'> {
  assertOptions<OpenFileOptions>(options, ['range', 'signal'])
  return { range: parseRange(options.range), signal: parseSignal(options.signal) }
}

/** Returns a range. Throws `out_of_range` for one that no file has. */
function parseRange(given: unknown): OpenFileRequest['range'] {
  if (given === undefined) return { start: 0, end: undefined }
  assertOptions<Readonly<Record<'start' | 'end' | 'last', unknown>>>(given, ['start', 'end', 'last'], { member: 'range' })
  const { start = 0, end, last } = given
  if (last !== undefined) {
    if (!isOffset(last) || last === 0 || 'start' in given || 'end' in given) throw outOfRange()
    return { last }
  }
  if (!isOffset(start) || (end !== undefined && (!isOffset(end) || end <= start))) throw outOfRange()
  return { start, end }
}

function isOffset(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

function outOfRange(): Fault {
  return fault(
    'out_of_range',
  )`range must begin within the file and end after its start, or have last alone. Its members are whole numbers of bytes.`
}

/** Opens a file. */
async function openStream(context: OperationContext, request: OpenFileRequest): Promise<OpenFileResult> {
  assertContentsReachable(context)
  const { table, id, signal } = request
  assertNotAborted(signal)
  const access = requireAccess(context, table, 'READ')
  const column = requireFileColumn(context, access, { name: request.column, action: 'READ' })
  const found = await requireOpenableFile(context, access, { column, id })
  if (request.onlyFile !== undefined && found.file.id !== request.onlyFile) throw fault('not_found')`The file was replaced.`
  const { size } = found.stored
  const range = rangeIn(size, request.range)
  context.event.addRows(table, [found.row])
  return { stream: guardedStream(context, found, { range, signal }), metadata: metadataOf(found.stored), size, range }
}

/** Returns the bytes of a file of this length. Throws `out_of_range` for a start beyond it. */
function rangeIn(size: number, wanted: WantedRange): ByteRange {
  if ('last' in wanted) return { start: Math.max(0, size - wanted.last), end: size }
  const { start, end = size } = wanted
  if (start >= size) throw outOfRange()
  return { start, end: Math.min(end, size) }
}

/** Yields the bytes. Errors are thrown as they may leave the vault, and a vault that was closed refuses the rest. */
async function* guardedStream(
  context: OperationContext,
  { file }: OpenableFile,
  { range, signal }: { readonly range: ByteRange; readonly signal: Signal | undefined },
): AsyncGenerator<Uint8Array> {
  const { lifetime } = context
  const pieces = readContent(context.files, { file, range })
  try {
    for (;;) {
      assertNotAborted(signal)
      const age = lifetime.begin()
      let next: IteratorResult<Uint8Array>
      try {
        next = await pieces.next()
      } finally {
        lifetime.end(age)
      }
      if (next.done === true) return
      yield next.value
    }
  } catch (error) {
    throw withVerbOf({ verb: 'Open file' }, error)
  } finally {
    await pieces.return(undefined)
  }
}
