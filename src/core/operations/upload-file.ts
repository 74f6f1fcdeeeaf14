/** Upload file: stores a file in a new or an existing record. Readers see the old file or the new one, whole. */

import { CATALOG_MOVED, UNKNOWN_KEY } from '../barrier/barrier.ts'
import { assertComplete, type Values } from '../barrier/parse-record.ts'
import { encodeRecordIds } from '../barrier/record-ids.ts'
import { type ErrorCode, fault, isVaultError, mayBeStored, VaultError } from '../errors.ts'
import { parseFlag, parseTable, requireTable, toIds } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import {
  assertContentsReachable,
  type FileColumn,
  fileIn,
  fileValues,
  NEW_FILE,
  nameOfFile,
  recordRow,
  requireFileColumn,
  requireUpdatable,
  toSource,
  untilAborted,
} from '../execution/file-columns.ts'
import { invalidTicket, refusedAlike, requireTicket, type Ticket } from '../execution/file-tickets.ts'
import { assertGranted, assertRequiredWritable, requireAccess } from '../execution/grants.ts'
import type { Operation, Untrusted } from '../execution/operation.ts'
import { attachFile, beginFile, type NewFile, reserveFile, uploadRemoved } from '../file-store/file-rows.ts'
import { discardFile, discardUpload, removeDueQuietly, removeFiles } from '../file-store/remove-files.ts'
import { storeContent } from '../file-store/store-content.ts'
import { type FileMetadata, metadataOf, toFileName } from '../files/file-metadata.ts'
import { TICKET_MINUTES } from '../limits.ts'
import type { Action } from '../policy/statement.ts'
import type { TableAccess } from '../policy/table-access.ts'
import type { Storage } from '../ports/storage.ts'
import { attemptChange } from '../records/attempt-change.ts'
import { storeChanges, storeNew } from '../records/record-store.ts'
import type { Table } from '../schema/layout.ts'
import { abortableUnit, type UnitOfWork } from '../unit-of-work/unit-of-work.ts'
import { causeOf } from '../util/causes.ts'
import { at, required } from '../util/lists.ts'
import { assertOptions } from '../util/options.ts'
import { assertNotAborted, parseSignal, type Signal, unlessAborted } from '../util/signal.ts'
import { nowMs } from '../util/time.ts'
import type { StoredFile } from '../values/file-type.ts'

/** Options of an upload. */
export interface UploadFileOptions {
  /** Return the metadata of the file. Default false. */
  readonly returnFileMetadata?: boolean
  /** An `AbortSignal`. Aborted before the commit begins, the upload throws `cancelled`, and nothing is stored; later it has no effect. */
  readonly signal?: Signal
}

/** Input of an upload. */
export interface UploadFileInput {
  readonly table: string
  readonly column: string
  /**
   * Id of the record. Default: a new record that has only the file. A function is asked once, after the content was stored: for a request
   * that has the content before the id. Until then, the caller needs UPDATE or CREATE of the column in some record.
   */
  readonly id?: string | (() => Promise<string | undefined>)
  /** The content: bytes, a Blob, a web stream, a Node stream, or another async iterable of bytes. */
  readonly file: unknown
  /** Default: the name of a `File`, else "file". Only its last path segment is kept, without control characters. */
  readonly fileName?: string
  readonly options?: UploadFileOptions
}

/** An uploaded file. */
export interface UploadedFile {
  /** Id of the record. */
  readonly id: string
  /** By column. Only with `returnFileMetadata`. */
  readonly fileMetadata?: Readonly<Record<string, FileMetadata>>
}

/** A parsed request, before grants are checked. */
export interface UploadFileRequest {
  table: Table
  readonly column: unknown
  /** Undefined for a new record. */
  id: string | undefined
  /** Returns the id, once the content is stored; undefined if the id is known. */
  askId: AskId | undefined
  readonly source: AsyncIterable<unknown>
  readonly signal: Signal | undefined
  readonly name: string
  readonly returnsMetadata: boolean
  /** Row id of the file, if a ticket reserved it. */
  readonly reserved: number | undefined
  /** The content once it is stored: a source is read once, and `execute` can run again after another process changed the catalog. */
  uploaded: StoredUpload | undefined
  /** Why the content could not be stored, once it was read. */
  failed?: unknown
}

/** Returns the id of a record, as its caller gives it. */
type AskId = () => unknown

/** Content in the blob store, and the value that its record gets. */
interface StoredUpload {
  readonly file: NewFile
  readonly value: StoredFile
}

/** Stores a file. Throws `unprocessable` for an empty file or a type that the column does not allow, `limit_exceeded` for one that is too long; nothing is stored then. */
export const uploadFile: Operation<UploadFileInput, UploadFileRequest, UploadedFile> = {
  action: 'UPLOAD_FILE',
  resourceType: 'FILE',
  verb: 'Upload',
  members: ['table', 'column', 'id', 'file', 'fileName', 'options'],
  recorded: {
    table: 'name',
    column: 'name',
    id: 'value',
    file: 'omitted',
    fileName: 'value',
    returnFileMetadata: 'flag',
    signal: 'omitted',
  },
  parse({ table: name, column, id, ...given }, context) {
    const table = parseTable(context, name)
    const record = isAskId(id) ? { id: undefined, askId: id } : { id: toRecordId(id), askId: undefined }
    return { ...parseContent(given), ...record, table, column, reserved: undefined }
  },
  again(request, context) {
    request.table = requireTable(context, request.table.name)
    return request
  },
  execute: storeOrAbandon,
  once: { isNoted: () => true, isFoundFirst: true, restore: uploadedBefore },
}

/** What is kept of an upload: the ids of the record and the row of the file. Its metadata are the record's, and end with it. */
interface KeptUpload {
  readonly id: string
  readonly file: number
}

/** Returns an upload that was stored before, with the metadata of its file if the record still has it. */
async function uploadedBefore(context: OperationContext, request: UploadFileRequest, kept: unknown): Promise<UploadedFile> {
  const { id, file } = kept as KeptUpload
  const { table, column: name, returnsMetadata } = request
  if (!returnsMetadata) return { id }
  const column = required(table.byName.get(String(name)), 'The column of a stored file')
  const row = await recordRow(context, context.unit.storage, { table, id })
  const stored = row === undefined ? undefined : fileIn(context, table, column, row)
  return { id, fileMetadata: stored?.file === file ? { [column.name]: metadataOf(stored) } : {} }
}

function isAskId(id: unknown): id is AskId {
  return typeof id === 'function'
}

/** Returns the id of a record; undefined for a new one. */
function toRecordId(id: unknown): string | undefined {
  return id === undefined || id === '' ? undefined : at(toIds([id]), 0)
}

/** What is uploaded by ticket. */
export type TicketUpload = Pick<UploadFileInput, 'file' | 'fileName' | 'options'>

/** Returns the operation that uploads by a ticket; `ticket` is undefined if the text was none. Only what is wrong with the content is said. */
export function uploadByTicket(ticket: Ticket | undefined): Operation<TicketUpload, UploadFileRequest, UploadedFile> {
  return {
    ...uploadFile,
    members: ['file', 'fileName', 'options'],
    parse(given, context) {
      const content = parseContent(given)
      const { table: name, column, id, file } = requireTicket(ticket)
      const table = context.layout.tables.get(name)
      if (table === undefined) throw invalidTicket()
      context.event.setTable(table)
      return { ...content, table, column, id, askId: undefined, reserved: file }
    },
    execute: (context, request) => refusedAlike(REFUSALS, () => storeOrAbandon(context, request)),
  }
}

/** What a ticket's owner does not learn: that the record or a grant is gone, or that the ticket was used. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['not_found', 'forbidden', 'invalid_request', 'conflict'])

function parseContent({
  file,
  fileName,
  options = {},
}: Untrusted<TicketUpload>): Pick<UploadFileRequest, 'source' | 'signal' | 'name' | 'returnsMetadata' | 'uploaded'> {
  assertOptions<UploadFileOptions>(options, ['returnFileMetadata', 'signal'])
  if (fileName !== undefined && typeof fileName !== 'string') throw fault('invalid_request')`fileName must be a string.`
  const signal = parseSignal(options.signal)
  return {
    source: untilAborted(toSource(file), signal),
    signal,
    name: toFileName(fileName ?? nameOfFile(file) ?? ''),
    returnsMetadata: parseFlag(options.returnFileMetadata, 'returnFileMetadata'),
    uploaded: undefined,
  }
}

/** Stores an upload. Content that was stored for nothing is removed, also if it is a later attempt that fails. */
async function storeOrAbandon(context: OperationContext, request: UploadFileRequest): Promise<UploadedFile> {
  try {
    return await storeUpload(context, request)
  } catch (error) {
    // After a lost COMMIT the file may be the record's: then nothing is removed, and if it is not, the row says when it will be.
    const isOver = error !== CATALOG_MOVED && error !== UNKNOWN_KEY && !mayBeStored(error)
    if (isOver && request.uploaded !== undefined) await abandon(context, request.uploaded.file)
    throw error
  }
}

/** Stores an upload. */
async function storeUpload(context: OperationContext, request: UploadFileRequest): Promise<UploadedFile> {
  assertContentsReachable(context)
  const { table, signal } = request
  assertNotAborted(signal)
  if (request.askId !== undefined) await uploadBeforeId(context, request, request.askId)
  const { id } = request
  const { access, column } = requireWritable(context, request, id === undefined ? 'CREATE' : 'UPDATE')
  await assertAccepted(context, access, { column, id })
  request.uploaded ??= await storeFile(context, request, column)
  const { uploaded } = request
  const unit = abortableUnit(context.unit, signal)
  const row = await attachToRecord({ ...context, unit }, access, { column, id, uploaded })
  await removeDueQuietly(context, FEW_FILES)
  context.files.wakeScans()
  return {
    id: at(encodeRecordIds(context.barrier.ring, table, [row]), 0),
    ...(request.returnsMetadata ? { fileMetadata: { [column.name]: metadataOf(uploaded.value) } } : {}),
  }
}

/** The column to upload to, and the caller's access to its table. */
interface WritableColumn {
  readonly access: TableAccess
  readonly column: FileColumn
}

/** Returns the column, if the caller can do this in some record. */
function requireWritable(context: OperationContext, { table, column: name }: UploadFileRequest, action: Action): WritableColumn {
  const access = requireAccess(context, table, action)
  return { access, column: requireFileColumn(context, access, { name, action }) }
}

/** Stores the content, and asks for the id after it. Before, only what does not depend on the record is checked. */
async function uploadBeforeId(context: OperationContext, request: UploadFileRequest, askId: AskId): Promise<void> {
  const { table, column: name } = request
  const given = typeof name === 'string' ? table.byName.get(name) : undefined
  const isUpdatable = given !== undefined && context.access.table(table).possiblyAllows('UPDATE', given)
  const { column } = requireWritable(context, request, isUpdatable ? 'UPDATE' : 'CREATE')
  request.uploaded ??= await storeFile(context, request, column)
  request.id = toRecordId(await unlessAborted(request.signal, () => idFrom(askId)))
  request.askId = undefined
}

/** Returns what the caller's function returns. An error of its own is not repeated, because it can quote a value. */
async function idFrom(askId: AskId): Promise<unknown> {
  try {
    return await askId()
  } catch (error) {
    if (VaultError.isGenuine(error)) throw error
    const message = 'Upload failed. The request ended with an error before the id of the record was known. Nothing is stored.'
    throw new VaultError('cancelled', message, {}, { cause: causeOf(error) })
  }
}

/** The record to upload to; without an id, a new one. */
interface Target {
  readonly column: FileColumn
  readonly id: string | undefined
}

/** Throws before any content is read if the caller cannot write the column of this record, or if a new record lacks required columns. */
async function assertAccepted(context: OperationContext, access: TableAccess, { column, id }: Target): Promise<void> {
  const { table } = access
  const values = fileValues(table, column, NEW_FILE)
  if (id === undefined) return assertCreatable(context, access, values)
  requireUpdatable(context, access, { id, row: await recordRow(context, context.unit.storage, { table, id }), writes: [values] })
}

function assertCreatable(context: OperationContext, access: TableAccess, values: Values): void {
  assertRequiredWritable(context, access)
  assertComplete(access.table, values, undefined)
  assertGranted(context, access, { action: 'CREATE', values })
}

/** Stores the content. What remains of a failed upload is removed. */
async function storeFile(context: OperationContext, request: UploadFileRequest, column: FileColumn): Promise<StoredUpload> {
  const { table, source, name, reserved } = request
  // The content was read, in part: another attempt would take its rest for all of it.
  if (request.failed !== undefined) throw request.failed
  const keepUntil = reserved === undefined ? 0 : nowMs(context) + TICKET_MINUTES * 60_000
  const id = reserved ?? (await reserveFile(context.files.storage))
  const file = await beginFile(context.files, table, { id, keepUntil })
  try {
    const { size, contentType } = await storeContent(context.files, { table, column, rules: column.file, file, name, source })
    return { file, value: { file: id, size, name, contentType } }
  } catch (error) {
    await abandon(context, file)
    // Removed meanwhile as abandoned: the store found that its blob was deleted while it was written.
    request.failed = isVaultError(error, 'not_found') ? uploadRemoved() : error
    throw request.failed
  }
}

/** Makes the file that of the record, in one transaction. Returns the row id of the record. */
async function attachToRecord(
  context: OperationContext,
  access: TableAccess,
  { column, id, uploaded }: Target & { readonly uploaded: StoredUpload },
): Promise<number> {
  const { table } = access
  const { file, value } = uploaded
  const values = fileValues(table, column, value)
  const request = { table, records: [values], supplied: [undefined], indexes: [undefined], tokenization: false }
  return attemptChange(context.unit, { table, scheduler: context.scheduler }, (outer) =>
    outer.change(async (unit) => {
      const rowId = await (id === undefined
        ? insertRecord(context, unit, { access, values, request })
        : replaceFile(context, unit, { access, column, id, values, request }))
      await attachFile(unit.storage, context.files, { file, table, rowId, size: value.size })
      context.note?.({ id: at(encodeRecordIds(context.barrier.ring, table, [rowId]), 0), file: file.id } satisfies KeptUpload)
      return rowId
    }),
  )
}

/** What the steps of the change have in common. */
interface Step {
  readonly access: TableAccess
  readonly values: Values
  readonly request: Parameters<typeof storeNew>[2]
}

async function insertRecord(
  context: OperationContext,
  unit: UnitOfWork<Storage>,
  { access, values, request }: Step,
): Promise<number> {
  assertCreatable(context, access, values)
  // What an upload returns is more than its record, and is noted where that is known.
  const { ids } = await storeNew(unit, { ...context, note: undefined }, request)
  return at(ids, 0)
}

async function replaceFile(
  context: OperationContext,
  unit: UnitOfWork<Storage>,
  { access, column, id, values, request }: Step & { readonly column: FileColumn; readonly id: string },
): Promise<number> {
  const { table } = access
  const row = requireUpdatable(context, access, {
    id,
    row: await recordRow(context, unit.storage, { table, id }),
    writes: [values],
  })
  const before = fileIn(context, table, column, row)
  await storeChanges(unit, context, { ...request, rows: [row] })
  if (before !== undefined) await discardFile(unit.storage, before.file, nowMs(context) + REPLACED_FOR_MS)
  return row.id
}

/** Number of files due for removal that an upload removes beside its own work, so that few are left to the purge. */
const FEW_FILES = 4

/** Milliseconds for which the content of a replaced file is kept, so that those who read it see it whole. */
const REPLACED_FOR_MS = TICKET_MINUTES * 60_000

/** Removes what an upload that failed has stored. If that fails too, the purge does it later. */
async function abandon(context: OperationContext, { id, entry }: NewFile): Promise<void> {
  try {
    if ((await discardUpload(context.files.storage, id, nowMs(context))) === 'attached') return
    // The purge may have removed the row of an upload that takes a day, before the store wrote its content.
    await context.files.blobs.delete([entry.key])
    await removeFiles(context.files, [id])
  } catch {
    context.log?.warn({ file: id }, 'content of a failed upload not removed yet')
  }
}
