/** What the examples of all routes are about: one vault, one person, and a file. A test sends every example to a vault that has them. */

import type { Names } from '../names.ts'
import type { RouteExample } from '../router/route.ts'

/** Ids and tokens have the form of those of a vault; the rest is what the vault of the test holds. */
export const EXAMPLE = {
  vaultID: 'acme',
  table: 'customers',
  id: '0b7d1f5e-6a3c-4b8e-9f20-5d1c7e4a9b36',
  otherID: '4e2a9c80-1d57-4f63-8b9e-a07c3f6d2e15',
  nameToken: '7c9e2d41-85b0-4a6f-b3d8-1f0e6c5a2b97',
  emailToken: 'd35f8a16-2c74-4e09-a1b6-9e8d7f40c352',
  ticket: 'Zm9yLWEtcGhvdG8',
  uploadTicket: 'Zm9yLWFuLXVwbG9hZA',
  assertion: 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJyZXBvcnRzIn0.c2lnbmF0dXJl',
  accessToken: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJyZXBvcnRzIn0.c2lnbmF0dXJl',
  fields: { name: 'Ann Bell', email: 'ann@acme.example', country: 'SE' },
  /** The same as a read without a redaction shows them. */
  shown: { name: 'A*******', email: 'ann@acme.example', country: 'SE' },
  tokens: { name: '7c9e2d41-85b0-4a6f-b3d8-1f0e6c5a2b97', email: 'd35f8a16-2c74-4e09-a1b6-9e8d7f40c352' },
  photo: { fileName: 'ann.png', fileSizeKB: 1, fileType: 'image/png' },
  time: '2026-01-15T09:30:00.000Z',
  /** As events and updates have it. */
  preciseTime: '2026-01-15T09:30:00.000000000Z',
} as const

/** The read of a record, as its event is listed. */
export const AUDIT_EXAMPLE: RouteExample = {
  query: 'filterOps.accountID=acme&filterOps.vaultID=acme&filterOps.actionType=GET&limit=1',
  response: {
    event: [
      {
        context: {
          changeID: '3b1e5f70-92c4-4d8a-8e6b-0f7a1c2d9e54',
          requestID: '9a4c7e12-5b60-4f3d-a8e1-6d2b0c9f7e83',
          traceID: '5f8d0a3c7e194b6285d1e0c94a7b3f26',
          actor: 'owner@acme.example',
          actorType: 'USER',
          accessType: 'API',
          ipAddress: '127.0.0.1',
          authMode: 'API_KEY',
          jwtID: '',
          keyID: 'test',
        },
        request: {
          actionType: 'GET',
          resourceType: 'RECORD',
          vaultID: EXAMPLE.vaultID,
          resources: ['TABLE/customers', `RECORD/${EXAMPLE.id}`],
        },
        response: {
          code: 200,
          message: '',
          timestamp: EXAMPLE.preciseTime,
          data: { content: '{"table":"customers","id":"*REDACTED*"}' },
          level: 'MASKED',
        },
      },
    ],
    nextOps: { timestamp: EXAMPLE.preciseTime, changeID: '3b1e5f70-92c4-4d8a-8e6b-0f7a1c2d9e54' },
  },
}

/** The routes of records. */
type RecordRoute = 'getRecords' | 'insertRecords' | 'deleteRecords' | 'getRecord' | 'updateRecord' | 'deleteRecord'

/** Returns an example for each route, of the table of examples or of a legacy table. */
export function recordExamples(
  { id: idName, ids: idsName }: Names,
  isLegacy: boolean,
): Readonly<Record<RecordRoute, RouteExample>> {
  const { id, otherID, fields, shown, tokens } = EXAMPLE
  const table = isLegacy ? {} : { params: { objectName: EXAMPLE.table } }
  const record = { params: { ...table.params, ID: id } }
  return {
    getRecords: {
      ...table,
      query: `${idsName}=${id}&redaction=PLAIN_TEXT&fields=name&fields=email`,
      response: { records: [{ fields: { [idName]: id, name: fields.name, email: fields.email } }] },
    },
    insertRecords: {
      ...table,
      body: { records: [{ fields }], upsert: 'email', tokenization: true },
      response: { records: [{ [idName]: id, tokens }] },
    },
    deleteRecords: { ...table, body: { [idsName]: [id, otherID] }, response: { RecordIDResponse: [id, otherID] } },
    getRecord: {
      ...record,
      query: 'fields=name&fields=country',
      response: { fields: { [idName]: id, name: shown.name, country: 'SE' } },
    },
    updateRecord: {
      ...record,
      body: { record: { fields: { country: 'DE' } } },
      response: { [idName]: id, ...(isLegacy ? { updatedTime: EXAMPLE.preciseTime } : {}) },
    },
    deleteRecord: { ...record, response: { [idName]: id, deleted: true } },
  }
}

const { id, table, emailToken, nameToken, fields, shown } = EXAMPLE

/** Detokenizes two tokens, each at a level of its own. */
export const DETOKENIZE_EXAMPLE: RouteExample = {
  body: { detokenizationParameters: [{ token: nameToken, redaction: 'PLAIN_TEXT' }, { token: emailToken }] },
  response: {
    records: [
      { token: nameToken, valueType: 'STRING', value: fields.name },
      { token: emailToken, valueType: 'STRING', value: shown.email },
    ],
  },
}

/** Finds the token of an email address. */
export const TOKENIZE_EXAMPLE: RouteExample = {
  body: { tokenizationParameters: [{ value: fields.email, table, column: 'email' }] },
  response: { records: [{ token: emailToken }] },
}

/** Returns the example of the route that finds records by their tokens. */
export function getByTokensExample({ id: idName }: Names): RouteExample {
  return {
    body: { tokens: [emailToken], redaction: 'plain_text' },
    response: {
      records: [{ fields: { [idName]: id, ...fields, photo: 'ann.png' }, token: emailToken, table_name: table, http_code: 200 }],
    },
  }
}

/** Looks up several tokens. */
export const LEGACY_TOKENS_EXAMPLE: RouteExample = {
  query: `token_ids=${emailToken}&token_ids=${nameToken}`,
  response: {
    records: [
      { token_id: emailToken, fields: { email: shown.email } },
      { token_id: nameToken, fields: { name: shown.name } },
    ],
  },
}

/** Looks up one token. */
export const LEGACY_TOKEN_EXAMPLE: RouteExample = {
  params: { ID: emailToken },
  query: 'redaction=PLAIN_TEXT',
  response: { token_id: emailToken, fields: { email: fields.email } },
}

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
