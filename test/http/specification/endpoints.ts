/**
 * The endpoints of the specification as data, read from it by hand: every route, query member, body member, response member, enum value,
 * status and default. A member is a path and its notation: a type or the words of an enum, then `required`, `default x`, `from..to` or
 * `max n`, as far as the specification says it.
 */
import { AUDIT } from './audit-endpoint.ts'
import { FILES } from './file-endpoints.ts'
import { LEGACY_TABLE_NAMES, LEGACY_TOKENS, legacyRoutes } from './legacy-endpoints.ts'
import {
  BYOT,
  EVERY_ERROR,
  each,
  type Members,
  R1,
  READ_RECORD,
  SHOWN_RECORD,
  type SpecifiedEndpoint,
  TABLE,
} from './specified-members.ts'

/** "Error envelope". */
export const ENVELOPE: Members = {
  error: 'object required',
  'error.grpc_code': 'integer required 0..16',
  'error.http_code': 'integer required 100..599',
  'error.http_status': 'string required max 100',
  'error.message': 'string required max 1000',
  'error.details': 'array',
  'error.details[]': 'object',
}

const BATCH: SpecifiedEndpoint = {
  method: 'POST',
  path: '/v1/vaults/{vaultID}',
  body: {
    ...each('records', {
      tableName: 'string required',
      method: 'POST|PUT|GET|DELETE required',
      fields: 'object required',
      ID: 'string',
      batchID: 'string',
      redaction: `${R1} default DEFAULT`,
      tokenization: 'boolean default false',
      downloadURL: 'boolean default false',
      upsert: 'string',
      tokens: 'object',
      returnFileMetadata: 'boolean default false',
    }),
    records: 'array required',
    continueOnError: 'boolean default false',
  },
  responses: { 200: { vaultID: 'string', responses: 'array' } },
  errors: EVERY_ERROR,
}

const RECORDS: readonly SpecifiedEndpoint[] = [
  {
    method: 'GET',
    path: TABLE,
    query: {
      svc_ids: 'array',
      'svc_ids[]': 'string',
      ...SHOWN_RECORD,
      offset: 'string',
      limit: 'string',
      column_name: 'string',
      column_values: 'array',
      'column_values[]': 'string',
      order_by: 'ASCENDING|DESCENDING|NONE',
    },
    responses: { 200: each('records', READ_RECORD) },
    errors: EVERY_ERROR,
  },
  {
    method: 'POST',
    path: TABLE,
    body: {
      ...each('records', { fields: 'object', tokens: 'object' }),
      records: 'array required',
      tokenization: 'boolean default false',
      upsert: 'string',
      homogeneous: 'boolean default false',
      byot: BYOT,
    },
    responses: { 200: each('records', { svc_id: 'string', tokens: 'object' }) },
    errors: [400, 401, 422, 500],
  },
  {
    method: 'DELETE',
    path: TABLE,
    body: { svc_ids: 'array', 'svc_ids[]': 'string' },
    responses: { 200: { RecordIDResponse: 'array', 'RecordIDResponse[]': 'string' } },
    errors: [400, 401, 404, 500],
  },
  {
    method: 'GET',
    path: `${TABLE}/{ID}`,
    query: SHOWN_RECORD,
    responses: { 200: READ_RECORD },
    errors: EVERY_ERROR,
  },
  {
    method: 'PUT',
    path: `${TABLE}/{ID}`,
    body: {
      record: 'object',
      'record.fields': 'object',
      'record.tokens': 'object',
      tokenization: 'boolean default false',
      byot: BYOT,
    },
    responses: { 200: { svc_id: 'string', tokens: 'object' } },
    errors: EVERY_ERROR,
  },
  {
    method: 'DELETE',
    path: `${TABLE}/{ID}`,
    responses: { 200: { svc_id: 'string', deleted: 'boolean' } },
    errors: [400, 401, 404, 500],
  },
]

const TOKENS: readonly SpecifiedEndpoint[] = [
  {
    method: 'POST',
    path: '/v2/vaults/{vaultID}/records/get_by_tokens',
    body: { tokens: 'array required', 'tokens[]': 'string', redaction: 'redacted|masked|plain_text' },
    responses: {
      200: each('records', { fields: 'object', error: 'string', http_code: 'integer', token: 'string', table_name: 'string' }),
    },
    errors: EVERY_ERROR,
  },
  {
    method: 'POST',
    path: '/v1/vaults/{vaultID}/detokenize',
    body: {
      ...each('detokenizationParameters', { token: 'string required', redaction: `${R1} default DEFAULT` }),
      detokenizationParameters: 'array required',
      downloadURL: 'boolean default false',
      continueOnError: 'boolean default false',
    },
    responses: {
      200: each('records', {
        token: 'string',
        valueType: 'STRING|INTEGER|FLOAT|BOOL|DATETIME|JSON|ARRAY|DATE|TIME',
        value: 'string',
        error: 'string',
      }),
    },
    errors: EVERY_ERROR,
  },
  {
    method: 'POST',
    path: '/v1/vaults/{vaultID}/tokenize',
    body: {
      ...each('tokenizationParameters', { value: 'string', table: 'string', column: 'string', columnGroup: 'string' }),
      tokenizationParameters: 'array required',
    },
    responses: { 200: { ...each('records', { token: 'string' }), records: 'array required' } },
    errors: EVERY_ERROR,
  },
]

/** With the legacy query route, which has the same path. */
const QUERY: SpecifiedEndpoint = {
  method: 'POST',
  path: '/v1/vaults/{vaultID}/query',
  body: { query: 'string required', vaultID: 'string' },
  responses: { 200: each('records', { fields: 'object', tokens: 'object' }) },
  errors: [400, 401, 422, 500],
}

/** Every endpoint of the specification. */
export const SPECIFIED_ENDPOINTS: readonly SpecifiedEndpoint[] = [
  AUDIT,
  BATCH,
  ...RECORDS,
  ...TOKENS,
  QUERY,
  ...FILES,
  ...LEGACY_TABLE_NAMES.flatMap(legacyRoutes),
  ...LEGACY_TOKENS,
]

/** "Limits". */
export const SPECIFIED_LIMITS: Readonly<Record<string, number>> = {
  'Records per SQL query result': 25,
  'Default page size': 25,
  'Default offset': 0,
  'Unique string column length': 2500,
  'Download URL validity': 15,
  'clientTraceID length': 128,
  'Error message length': 1000,
  'Error http_status length': 100,
  'Files per upload request': 1,
}
