/** The endpoints of files, as the specification has them. */
import { EVERY_ERROR, each, FILE_METADATA, type SpecifiedEndpoint, TABLE } from './specified-members.ts'

const SCAN_STATES =
  'SCAN_CLEAN|SCAN_INFECTED|SCAN_DELETED|SCAN_ERROR|SCAN_PENDING|SCAN_UNSCANNABLE|SCAN_FILE_NOT_FOUND|SCAN_INVALID'

const FILE = '/v1/vaults/{vaultID}/{tableName}/{ID}/files/{columnName}'

/** "Files". */
export const FILES: readonly SpecifiedEndpoint[] = [
  {
    method: 'POST',
    path: `${TABLE}/{ID}/files`,
    isDeprecated: true,
    bodyType: 'multipart/form-data',
    // One part, whose key is the name of a column.
    body: { '*': 'string' },
    responses: { 200: { svc_id: 'string', tokens: 'object' } },
    errors: [400, 401, 422, 500],
  },
  {
    method: 'DELETE',
    path: FILE,
    responses: { 200: { svc_id: 'string', deleted: 'boolean' } },
    errors: [400, 401, 404, 500],
  },
  {
    method: 'GET',
    path: `${FILE}/scan-status`,
    isDeprecated: true,
    responses: { 200: { file_status: 'string', av_scan_status: SCAN_STATES } },
    errors: [400, 401, 500],
  },
  {
    method: 'POST',
    path: '/v2/vaults/{vaultID}/files/upload',
    bodyType: 'multipart/form-data',
    body: {
      tableName: 'string required',
      columnName: 'string required',
      svcID: 'string',
      file: 'string required',
      returnFileMetadata: 'boolean default false',
    },
    responses: { 200: { svcID: 'string', ...FILE_METADATA('fileMetadata') } },
    errors: EVERY_ERROR,
  },
  {
    method: 'POST',
    path: '/v2/vaults/{vaultID}/files/uploadStatus',
    body: {
      ...each('records', {
        tableName: 'string required',
        svcID: 'string required',
        fileColumns: 'array required',
        'fileColumns[]': 'string',
      }),
      records: 'array required',
    },
    responses: {
      200: each('records', {
        fields: 'object',
        'fields.svc_id': 'string',
        'fields.*': 'object',
        // "string members"; their words: "States and transitions".
        'fields.*.av_scan_status': SCAN_STATES,
        'fields.*.file_status': 'string',
        'fields.*.mimetype_status': 'string',
        tableName: 'string',
        error: 'string',
        http_code: 'integer',
      }),
      // "a map from string to any value"
      207: {},
    },
    errors: [400, 401, 404, 500],
  },
  // Bodies: not shown.
  {
    method: 'POST',
    path: '/v2/vaults/{vaultID}/files/uploadURL',
    responses: { 200: {} },
    errors: [400, 401, 404, 500],
  },
]
