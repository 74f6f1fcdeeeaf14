/** What the operations on files share: the column, the record, the file that a caller may open, and the content that a caller gives. */
import type { Values } from '../barrier/parse-record.ts'
import { cellDetail, unknownColumn } from '../barrier/record-errors.ts'
import { decodeRecordIds } from '../barrier/record-ids.ts'
import { openColumns } from '../barrier/reveal.ts'
import { type Fault, fault } from '../errors.ts'
import { type OpenedFile, readFiles } from '../file-store/file-rows.ts'
import { UNKNOWN_CONTENT_TYPE } from '../files/file-metadata.ts'
import { mayOpen } from '../files/scan-state.ts'
import { forbidden } from '../policy/create-access.ts'
import type { Action } from '../policy/statement.ts'
import type { TableAccess } from '../policy/table-access.ts'
import type { Row, StorageReads } from '../ports/storage.ts'
import { evaluateAccess, type RowWithAccess } from '../row-access/evaluate-access.ts'
import type { Column, FileRules } from '../schema/column-layout.ts'
import type { Table } from '../schema/layout.ts'
import { at } from '../util/lists.ts'
import { type Signal, unlessAborted } from '../util/signal.ts'
import type { StoredFile } from '../values/file-type.ts'
import { parseTable, recordsNotFound, toIds } from './check-input.ts'
import type { OperationContext, ParsingContext } from './context.ts'
import { checkOverwrites, requireColumn } from './grants.ts'
import type { Untrusted } from './operation.ts'

/** A column that holds files. */
export type FileColumn = Column & { readonly file: FileRules }

/** Returns the column. Throws like `requireColumn`, and `unprocessable` for a column of another type. */
export function requireFileColumn(
  context: OperationContext,
  access: TableAccess,
  { name, action }: { readonly name: unknown; readonly action: Action },
): FileColumn {
  const column = requireColumn(context, access, { name, action })
  if (isFileColumn(column)) return column
  throw fault(
    'unprocessable',
    cellDetail(access.table, column, undefined),
  )`Column ${column.name} of table ${access.table.name} does not hold files.`
}

function isFileColumn(column: Column): column is FileColumn {
  return column.file !== undefined
}

/** Returns the record with this id, if the caller can read a column of it. Throws `not_found`. */
export async function requireVisibleRecord(context: OperationContext, access: TableAccess, id: string): Promise<RowWithAccess> {
  const { table } = access
  const row = await recordRow(context, context.unit.storage, { table, id })
  const [found] = row === undefined ? [] : evaluateAccess(context.barrier, access, [row])
  if (found === undefined || !found.access.meets({ action: 'READ', columns: [] })) throw recordsNotFound(table, [id], [0])
  return found
}

/** Returns the row of a record id; undefined if there is none. */
export async function recordRow(
  { barrier }: Pick<OperationContext, 'barrier'>,
  storage: StorageReads,
  { table, id }: { readonly table: Table; readonly id: string },
): Promise<Row | undefined> {
  const [rowId] = decodeRecordIds(barrier.ring, table, [id])
  if (rowId === undefined) return undefined
  const [row] = await storage.get(table.physical.name, [rowId])
  return row
}

/** The value of a file that does not exist yet: conditions of grants see that there will be one. */
export const NEW_FILE: StoredFile = { file: 0, size: 0, name: '', contentType: UNKNOWN_CONTENT_TYPE }

/** Returns the values of a record of which only this column is written; null takes the file away. */
export function fileValues(table: Table, column: FileColumn, value: StoredFile | null): Values {
  return table.columns.map((one) => (one === column ? value : undefined))
}

/** Returns the row, if the caller can write each of these values over it. Throws `not_found` or `forbidden`. */
export function requireUpdatable(
  context: OperationContext,
  access: TableAccess,
  { id, row, writes }: { readonly id: string; readonly row: Row | undefined; readonly writes: readonly Values[] },
): Row {
  const overwrites = row === undefined ? [] : writes.map((values) => ({ row, values, index: undefined }))
  const { invisible } = checkOverwrites(context, access, overwrites)
  if (row === undefined || invisible.length > 0) throw recordsNotFound(access.table, [id], [0])
  return row
}

/** Returns the file that a row has in a column; undefined if it has none. */
export function fileIn(
  { barrier }: Pick<OperationContext, 'barrier'>,
  table: Table,
  column: Column,
  row: Row,
): StoredFile | undefined {
  const cursor = openColumns(barrier, table, [row], [column])
  cursor.to(0)
  // The cells of a FILE column hold stored files: their mark was compared when the body was opened.
  return (cursor.value(column) as StoredFile | null) ?? undefined
}

/** A file of a record that the caller may open. */
export interface OpenableFile {
  readonly stored: StoredFile
  readonly file: OpenedFile
  /** Row id of the record. */
  readonly row: number
}

/**
 * Returns the file of a record that the caller can read in plain text. Throws `forbidden` without that grant, `not_found` without a
 * record or a file, and `failed_precondition` if the file may not be opened, whatever the state of its scan.
 */
export async function requireOpenableFile(
  context: OperationContext,
  access: TableAccess,
  { column, id }: { readonly column: FileColumn; readonly id: string },
): Promise<OpenableFile> {
  const { table } = access
  const { row, access: granted } = await requireVisibleRecord(context, access, id)
  const level = granted.level(column)
  if (level === undefined) throw unknownColumn(table.name, column.name)
  if (level !== 'PLAIN_TEXT') throw forbidden(context.caller, 'READ', table)
  const stored = fileIn(context, table, column, row)
  if (stored === undefined) throw noFile(table, column)
  const [file] = await readFiles(context.unit.storage, context.barrier, [stored.file])
  if (file === undefined || file.removeAt !== null) throw noFile(table, column)
  if (!mayOpen(file.entry.state, context.files.hasScanner)) throw notOpenable(table, column)
  return { stored, file, row: row.id }
}

/** Returns the error for a record without a file in a column. */
export function noFile(table: Table, column: Column): Fault {
  const detail = cellDetail(table, column, undefined)
  return fault('not_found', detail)`This record of table ${table.name} has no file in column ${column.name}.`
}

function notOpenable(table: Table, column: Column): Fault {
  const detail = cellDetail(table, column, undefined)
  return fault(
    'failed_precondition',
    detail,
  )`The file in column ${column.name} of table ${table.name} cannot be opened now. Its scan status says more.`
}

/** Throws `failed_precondition` inside a transaction, of which contents of files are not part. */
export function assertContentsReachable({ files }: Pick<OperationContext, 'files'>): void {
  if (!files.isInTransaction) return
  throw fault('failed_precondition')`Contents of files are not part of a transaction. Call this outside of it.`
}

/** The file of a record. */
export interface FileInput {
  readonly table: string
  readonly id: string
  readonly column: string
}

/** A parsed request, before grants are checked. */
export interface FileRequest {
  readonly table: Table
  readonly id: string
  readonly column: unknown
}

/** What events record of the input. */
export const RECORDED_FILE = { table: 'name', id: 'value', column: 'name' } as const

/** Returns the request. Throws `not_found` for an unknown table. */
export function parseFileInput({ table: name, id, column }: Untrusted<FileInput>, context: ParsingContext): FileRequest {
  const table = parseTable(context, name)
  return { table, id: at(toIds([id]), 0), column }
}

/** Returns the content as an async iterable, whose chunks are not checked yet. Throws `invalid_request` for anything else. */
export function toSource(file: unknown): AsyncIterable<unknown> {
  if (file instanceof Uint8Array) return once(file)
  if (file instanceof ArrayBuffer) return once(new Uint8Array(file))
  if (isAsyncIterable(file)) return file
  if (typeof file === 'object' && file !== null) {
    const stream: unknown = Reflect.get(file, 'stream')
    // A Blob or a File: its stream is a new one at each call.
    const opened: unknown = typeof stream === 'function' ? Reflect.apply(stream, file, []) : undefined
    if (isAsyncIterable(opened)) return opened
  }
  throw fault(
    'invalid_request',
  )`file must be a Uint8Array, a Blob, a web stream, a Node stream, or another async iterable of bytes.`
}

/** Returns the source with an end: after an abort it throws `cancelled`, also while a chunk is waited for that may never come. */
export function untilAborted(source: AsyncIterable<unknown>, signal: Signal | undefined): AsyncIterable<unknown> {
  if (signal === undefined) return source
  return {
    [Symbol.asyncIterator]() {
      const chunks = source[Symbol.asyncIterator]()
      return {
        next: () => unlessAborted(signal, () => chunks.next()),
        return: async () => (await chunks.return?.()) ?? { done: true, value: undefined },
      }
    },
  }
}

/** Returns the name that a File has; undefined for anything else. */
export function nameOfFile(file: unknown): string | undefined {
  const name: unknown = typeof file === 'object' && file !== null ? Reflect.get(file, 'name') : undefined
  return typeof name === 'string' ? name : undefined
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, Symbol.asyncIterator) === 'function'
}
