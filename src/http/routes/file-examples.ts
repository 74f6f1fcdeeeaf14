/** The examples of the routes of files. */
import type { Names } from '../names.ts'
import type { RouteExample } from '../router/route.ts'
import { EXAMPLE } from './examples.ts'

/** The routes of files. */
type FileRoute =
  | 'uploadFile'
  | 'uploadRecordFile'
  | 'deleteFile'
  | 'getScanStatus'
  | 'getUploadStatus'
  | 'getUploadURLs'
  | 'downloadWithTicket'
  | 'uploadWithTicket'

/** The parts of a multipart body that are files, as examples show them. */
export const EXAMPLE_CONTENT = '(the bytes of ann.png)'

/** Returns an example for each route. */
export function fileExamples({ id: idName, fileId }: Names): Readonly<Record<FileRoute, RouteExample>> {
  const { id, table, photo, ticket, uploadTicket, time, vaultID } = EXAMPLE
  const columnName = 'photo'
  const params = { tableName: table, ID: id, columnName }
  const states = { av_scan_status: 'SCAN_UNSCANNABLE', file_status: 'UPLOADED' }
  const url = `https://vault.example/v1/files/${vaultID}/${uploadTicket}`
  return {
    uploadFile: {
      body: { tableName: table, columnName, [fileId]: id, file: EXAMPLE_CONTENT, returnFileMetadata: true },
      response: { [fileId]: id, fileMetadata: { photo } },
    },
    uploadRecordFile: {
      params: { objectName: table, ID: id },
      body: { [columnName]: EXAMPLE_CONTENT },
      response: { [idName]: id, tokens: {} },
    },
    deleteFile: { params, response: { [idName]: id, deleted: true } },
    getScanStatus: { params, response: { file_status: states.file_status, av_scan_status: states.av_scan_status } },
    getUploadStatus: {
      body: { records: [{ tableName: table, [fileId]: id, fileColumns: [columnName] }] },
      response: {
        records: [
          { tableName: table, fields: { [idName]: id, [columnName]: { ...states, mimetype_status: 'ALLOWED' } }, http_code: 200 },
        ],
      },
    },
    getUploadURLs: {
      body: { tableName: table, [fileId]: id, fileColumns: [columnName] },
      response: { uploadURLs: { [columnName]: { url, expiresAt: time } } },
    },
    downloadWithTicket: { params: { ticket } },
    uploadWithTicket: { params: { ticket: uploadTicket }, query: 'fileName=ann.png', response: { [fileId]: id } },
  }
}
