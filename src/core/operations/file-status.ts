/** File status: whether a record has a file, and the state of its malware scan; for one file, or for many at once. */

import { unknownColumn } from '../barrier/record-errors.ts'
import { Fault, fault } from '../errors.ts'
import { parseList, requireTable, toIds } from '../execution/check-input.ts'
import type { OperationContext } from '../execution/context.ts'
import {
  type FileInput,
  type FileRequest,
  fileIn,
  parseFileInput,
  RECORDED_FILE,
  requireFileColumn,
  requireVisibleRecord,
} from '../execution/file-columns.ts'
import { requireAccess } from '../execution/grants.ts'
import type { Operation } from '../execution/operation.ts'
import { readFiles } from '../file-store/file-rows.ts'
import { isAllowedType } from '../files/file-metadata.ts'
import { type ScanStatus, scanStatusOf } from '../files/scan-state.ts'
import { at } from '../util/lists.ts'
import { assertItems } from '../util/options.ts'

/** The status of a file. Source: specification, "Files". */
export interface FileStatus {
  readonly fileStatus: 'UPLOADED' | 'NOT_UPLOADED'
  readonly avScanStatus: ScanStatus
}

/** The status of a file of many. */
export interface UploadedFileStatus extends FileStatus {
  /** Whether the column still allows the type of the file; `NOT_UPLOADED` without a file. */
  readonly mimetypeStatus: 'ALLOWED' | 'NOT_ALLOWED' | 'NOT_UPLOADED'
}

/** A record, and the columns whose files are asked for. */
export interface FileStatusRecord {
  readonly table: string
  readonly id: string
  readonly fileColumns: readonly string[]
}

/** The statuses of one record, or why they cannot be had. */
export interface FileStatusResult {
  readonly table: string
  readonly id: string
  /** By column. Empty with an error. */
  readonly fields: Readonly<Record<string, UploadedFileStatus>>
  readonly error?: string
  /** HTTP status of the record: 200, or that of the error. */
  readonly httpStatus: number
}

/** Returns the status of one file. Needs READ of its column, at any level. A record without a file has SCAN_FILE_NOT_FOUND. */
export const fileStatus: Operation<FileInput, FileRequest, FileStatus> = {
  action: 'FILE_STATUS',
  resourceType: 'FILE',
  verb: 'File status',
  members: ['table', 'id', 'column'],
  notFoundStatus: 400,
  recorded: RECORDED_FILE,
  parse: parseFileInput,
  async execute(context, request) {
    const [{ fileStatus: uploaded, avScanStatus }] = await statusesOf(context, { ...request, columns: [request.column] })
    return { fileStatus: uploaded, avScanStatus }
  },
}

/** A record asked for. Its table and columns are not checked yet: what is wrong with them is an error of this record. */
export interface StatusToGet {
  readonly table: unknown
  readonly id: string
  readonly columns: readonly unknown[]
}

/** The records asked for. */
export interface FileStatusesRequest {
  readonly records: readonly StatusToGet[]
}

/** Returns the statuses of files of several records, in order. A record that cannot be read has an error. Throws `invalid_request`. */
export const fileStatuses: Operation<
  { readonly records: readonly FileStatusRecord[] },
  FileStatusesRequest,
  { records: FileStatusResult[] }
> = {
  action: 'FILE_STATUS',
  resourceType: 'FILE',
  verb: 'File statuses',
  members: ['records'],
  recorded: { records: { table: 'name', id: 'value', fileColumns: 'columns' } },
  parse({ records }, context) {
    const list = parseList(context, records, 'records')
    for (const [index, record] of list.entries()) {
      if (typeof record === 'object' && record !== null) continue
      throw fault('invalid_request', { index })`records[${index}] must be an object with table, id and fileColumns.`
    }
    assertItems(list, ['table', 'id', 'fileColumns'], 'records')
    return { records: list.map(toRecord) }
  },
  async execute(context, { records }) {
    const results: FileStatusResult[] = []
    for (const record of records) results.push(await resultOf(context, record))
    return { records: results }
  },
}

function toRecord(given: unknown): StatusToGet {
  const { table, id, fileColumns }: { readonly [Member in keyof FileStatusRecord]?: unknown } = Object(given)
  return { table, id: at(toIds([id]), 0), columns: Array.isArray(fileColumns) ? [...fileColumns] : [] }
}

/** Returns the result of one record. Refusals are its own, other errors are those of all. */
async function resultOf(context: OperationContext, { table: name, id, columns }: StatusToGet): Promise<FileStatusResult> {
  const given = { table: typeof name === 'string' ? name : '', id }
  try {
    if (columns.length === 0) throw fault('invalid_request')`fileColumns must be a non-empty array of column names.`
    const table = requireTable(context, name)
    if (columns.length > table.columns.length)
      throw fault('invalid_request', { table: table.name })`fileColumns names more columns than table ${table.name} has.`
    const statuses = await statusesOf(context, { table, id, columns })
    return { ...given, fields: Object.fromEntries(statuses.map(({ column, ...status }) => [column, status])), httpStatus: 200 }
  } catch (error) {
    if (!Fault.isFault(error) || error.httpStatus >= 500) throw error
    return { ...given, fields: {}, error: error.message, httpStatus: error.httpStatus }
  }
}

/** Returns the status of each column, in order. */
async function statusesOf(
  context: OperationContext,
  { table, id, columns: names }: Pick<FileRequest, 'table' | 'id'> & { readonly columns: readonly unknown[] },
): Promise<[UploadedFileStatus & { column: string }, ...(UploadedFileStatus & { column: string })[]]> {
  const access = requireAccess(context, table, 'READ')
  const columns = names.map((name) => requireFileColumn(context, access, { name, action: 'READ' }))
  const { row, access: granted } = await requireVisibleRecord(context, access, id)
  context.event.addRows(table, [row.id])
  const hidden = columns.find((column) => granted.level(column) === undefined)
  if (hidden !== undefined) throw unknownColumn(table.name, hidden.name)
  const stored = columns.map((column) => fileIn(context, table, column, row))
  const files = await readFiles(
    context.unit.storage,
    context.barrier,
    stored.flatMap((one) => one?.file ?? []),
  )
  const byId = new Map(files.map((file) => [file?.id, file]))
  const [first, ...others] = columns.map((column, index): UploadedFileStatus & { column: string } => {
    const one = stored[index]
    const file = byId.get(one?.file)
    if (one === undefined || file === undefined) return { column: column.name, ...NOT_UPLOADED }
    return {
      column: column.name,
      fileStatus: 'UPLOADED',
      avScanStatus: scanStatusOf(file.entry.state, context.files.hasScanner),
      mimetypeStatus: isAllowedType(column.file.allowedTypes, one.contentType) ? 'ALLOWED' : 'NOT_ALLOWED',
    }
  })
  return [first ?? { column: '', ...NOT_UPLOADED }, ...others]
}

const NOT_UPLOADED: UploadedFileStatus = {
  fileStatus: 'NOT_UPLOADED',
  avScanStatus: 'SCAN_FILE_NOT_FOUND',
  mimetypeStatus: 'NOT_UPLOADED',
}
