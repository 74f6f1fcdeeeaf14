/** Routes of files with JSON bodies: their status, their deletion, and URLs to upload to. Source: specification, "Files". */
import * as z from 'zod'
import { type OperationResult, VaultError } from '../../index.ts'
import type { Names } from '../names.ts'
import type { RouterOptions } from '../options.ts'
import { invalidId } from '../router/error-response.ts'
import { operationRoute, type Route } from '../router/route.ts'
import { fileUrl } from '../router/urls.ts'
import { fileExamples } from './examples.ts'
import { deletedShape, namedShape, VAULT_MEMBER } from './shapes.ts'

/** Returns the routes. */
export function fileRoutes({ names }: RouterOptions): Route[] {
  return [deleteFileRoute(names), scanStatusRoute(names), uploadStatusRoute(names), uploadUrlRoute(names)]
}

/** The states of a scan. Source: specification, "States and transitions". */
const SCAN_STATUS = z
  .enum([
    'SCAN_CLEAN',
    'SCAN_INFECTED',
    'SCAN_DELETED',
    'SCAN_ERROR',
    'SCAN_PENDING',
    'SCAN_UNSCANNABLE',
    'SCAN_FILE_NOT_FOUND',
    'SCAN_INVALID',
  ])
  .meta({
    title: 'ScanStatus',
    description: 'The state of the malware scan. SCAN_UNSCANNABLE also where no scanner is configured.',
  })

const FILE_STATUS = z
  .enum(['UPLOADED', 'NOT_UPLOADED'])
  .meta({ title: 'FileStatus', description: 'Whether the record has a file.' })

/** The state of a file in a list. */
const COLUMN_STATUS = z
  .object({
    av_scan_status: SCAN_STATUS,
    file_status: FILE_STATUS,
    mimetype_status: z
      .enum(['ALLOWED', 'NOT_ALLOWED', 'NOT_UPLOADED'])
      .describe('Whether the column still allows the type of the file.'),
  })
  .meta({ title: 'FileColumnStatus', description: 'The state of a file.' })

/** Where the file of a record is. */
const FILE_PATH = '/v1/vaults/{vaultID}/{tableName}/{ID}/files/{columnName}'

/** Returns the file that a path names. */
function fileAt({ tableName = '', ID = '', columnName = '' }: Readonly<Record<string, string>>) {
  return { table: tableName, id: ID, column: columnName }
}

function deleteFileRoute(names: Names): Route {
  const { id: name } = names
  return operationRoute({
    method: 'DELETE',
    path: FILE_PATH,
    name: 'deleteFile',
    example: fileExamples(names).deleteFile,
    group: 'Files',
    summary: 'Deletes the file of a record.',
    operation: 'deleteFile',
    verb: 'Delete file',
    statuses: [400, 401, 404, 500],
    response: deletedShape(name),
    read: ({ params }) => fileAt(params),
    write: ({ id, deleted }) => ({ [name]: id, deleted }),
  })
}

function scanStatusRoute(names: Names): Route {
  return operationRoute({
    method: 'GET',
    path: `${FILE_PATH}/scan-status`,
    name: 'getScanStatus',
    example: fileExamples(names).getScanStatus,
    group: 'Files',
    summary: 'Returns the state of the malware scan of a file.',
    isDeprecated: true,
    operation: 'fileStatus',
    verb: 'File status',
    statuses: [400, 401, 500],
    response: z.object({ file_status: FILE_STATUS, av_scan_status: SCAN_STATUS }),
    read: ({ params }) => fileAt(params),
    write: ({ fileStatus, avScanStatus }) => ({ file_status: fileStatus, av_scan_status: avScanStatus }),
  })
}

function uploadStatusRoute(names: Names): Route {
  const asked = z.object({
    tableName: z.string().describe('Name of the table.'),
    ...namedShape(names.fileId, z.string().describe('Id of the record.')),
    fileColumns: z.array(z.string()).optional().describe('Names of file columns.'),
    fileFields: z.array(z.string()).optional().describe('The same, as older clients send it. One of both is needed.'),
  })
  const answered = z
    .object({
      tableName: z.string().describe('Name of the table.'),
      fields: z
        .object(namedShape(names.id, z.string().describe('Id of the record.')))
        .catchall(COLUMN_STATUS)
        .describe('The record id, and the state of each file by its column. Without columns with an error.'),
      error: z.string().optional().describe('Why there are no states.'),
      http_code: z.int().describe('200, or the status of the error.'),
    })
    .meta({ title: 'UploadStatusRecord', description: 'The states of the files of a record.' })
  const response = z.object({ records: z.array(answered).describe('In the order of the request.') })
  return operationRoute({
    method: 'POST',
    path: '/v2/vaults/{vaultID}/files/uploadStatus',
    name: 'getUploadStatus',
    example: fileExamples(names).getUploadStatus,
    group: 'Files',
    summary: 'Returns the upload and scan status of files of several records.',
    description:
      'The status is 207 as soon as one record has an error, also if all have: check http_code and error of each. The body has the same shape then. A client can send fileFields in place of fileColumns, or both.',
    operation: 'fileStatuses',
    verb: 'Upload status',
    statuses: [400, 401, 404, 500],
    body: z.object({ records: z.array(asked).describe('The records, one or more.'), vaultID: VAULT_MEMBER }),
    response,
    otherResponses: { 207: response },
    read: ({ body }) => ({
      records: body.records.map(({ tableName, fileColumns, fileFields, ...ids }, index) => {
        if (fileColumns === undefined && fileFields === undefined)
          throw new VaultError('invalid_request', `records[${index}].fileColumns is required.`)
        return {
          table: tableName,
          id: String(Reflect.get(ids, names.fileId)),
          fileColumns: [...new Set([...(fileColumns ?? []), ...(fileFields ?? [])])],
        }
      }),
    }),
    write: ({ records }) => ({ records: records.map((record) => toStatusRecord(record, names)) }),
    statusOf: ({ records }) => (records.some(({ error }) => error !== undefined) ? 207 : 200),
  })
}

type StatusResult = OperationResult<'fileStatuses'>['records'][number]

/** An id of another form can be any text that a client mistook for one. An error does not repeat it. */
const UUID = /^[0-9a-f-]{36}$/i

/** Returns the statuses of a record as clients read them: beside the id, a member for each column. */
function toStatusRecord({ table, id, fields, error, httpStatus }: StatusResult, names: Names) {
  const columns = Object.entries(fields).map(([column, status]) => [column, toColumnStatus(status)])
  return {
    tableName: table,
    fields: { [names.id]: id, ...Object.fromEntries(columns) },
    ...(error === undefined
      ? {}
      : { error: error.includes(' has this id') ? invalidId(UUID.test(id) ? id : 'This', names.id) : error }),
    http_code: httpStatus,
  }
}

function toColumnStatus({ avScanStatus, fileStatus, mimetypeStatus }: StatusResult['fields'][string]) {
  return { av_scan_status: avScanStatus, file_status: fileStatus, mimetype_status: mimetypeStatus }
}

function uploadUrlRoute(names: Names): Route {
  return operationRoute({
    method: 'POST',
    path: '/v2/vaults/{vaultID}/files/uploadURL',
    name: 'getUploadURLs',
    example: fileExamples(names).getUploadURLs,
    group: 'Files',
    summary: 'Returns an URL for each column, to upload its file to without a bearer.',
    description: `Without ${names.fileId}, the upload makes a new record, and only one column can be named. Each URL takes one file, by PUT or POST, for 15 minutes. The specification shows no bodies of this route: they are ours.`,
    operation: 'uploadTicket',
    verb: 'Upload URL',
    statuses: [400, 401, 404, 500],
    wireNames: { id: names.fileId, columns: 'fileColumns' },
    body: z.object({
      tableName: z.string().describe('Name of the table.'),
      ...namedShape(names.fileId, z.string().optional().describe('Id of the record. Absent: the upload makes a new record.')),
      fileColumns: z.array(z.string()).optional().describe('Names of file columns.'),
      columns: z.array(z.string()).optional().describe('The same. One of both is needed.'),
      vaultID: VAULT_MEMBER,
    }),
    response: z.object({
      uploadURLs: z
        .record(
          z.string(),
          z
            .object({
              url: z.string().describe('Where the file is sent to.'),
              expiresAt: z.iso.datetime().describe('15 minutes from now.'),
            })
            .meta({ title: 'UploadURL', description: 'An URL that takes one file.' }),
        )
        .describe('By file column.'),
    }),
    read({ body: { tableName, fileColumns = [], columns = [], ...ids } }) {
      const id: unknown = Reflect.get(ids, names.fileId)
      const given = [...new Set([...fileColumns, ...columns])]
      return { table: tableName, columns: given, ...(typeof id === 'string' && id !== '' ? { id } : {}) }
    },
    write: ({ tickets }, { call }) => ({
      uploadURLs: Object.fromEntries(
        Object.entries(tickets).map(([column, { ticket, expiresAt }]) => [
          column,
          { url: fileUrl(call, ticket), expiresAt: new Date(expiresAt).toISOString() },
        ]),
      ),
    }),
  })
}
