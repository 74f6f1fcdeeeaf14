/**
 * The endpoints of the specification as data, read from it by hand: every route, query member, body member, response member, enum value,
 * status and default. A member is a path and its notation: a type or the words of an enum, then `required`, `default x`, `from..to` or
 * `max n`, as far as the specification says it.
 */

/** Members by path: `records[].fields`, `fileMetadata.*.fileName`. */
export type Members = Readonly<Record<string, string>>

/** One endpoint. */
export interface SpecifiedEndpoint {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly isDeprecated?: true
  readonly query?: Members
  readonly bodyType?: 'multipart/form-data'
  readonly body?: Members
  /** Members of the bodies of successes by status. */
  readonly responses: Readonly<Record<number, Members>>
  /** Absent where the specification names none. */
  readonly errors?: readonly number[]
}

const R1 = 'DEFAULT|REDACTED|MASKED|PLAIN_TEXT'
const BYOT = 'DISABLE|ENABLE|ENABLE_STRICT default DISABLE'
const SCAN_STATES =
  'SCAN_CLEAN|SCAN_INFECTED|SCAN_DELETED|SCAN_ERROR|SCAN_PENDING|SCAN_UNSCANNABLE|SCAN_FILE_NOT_FOUND|SCAN_INVALID'

const EVERY_ERROR = [400, 401, 404, 422, 500]

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

/** "FileMetadata", by column. */
const FILE_METADATA = (path: string): Members => ({
  [path]: 'object',
  [`${path}.*`]: 'object',
  [`${path}.*.fileName`]: 'string',
  [`${path}.*.fileSizeKB`]: 'integer',
  [`${path}.*.fileType`]: 'string',
})

/** "GetFieldRecords". */
const READ_RECORD: Members = { fields: 'object', tokens: 'object', ...FILE_METADATA('fileMetadata') }

/** Members of each item of a list. */
const each = (path: string, members: Members): Members => ({
  [path]: 'array',
  [`${path}[]`]: 'object',
  ...Object.fromEntries(Object.entries(members).map(([name, notation]) => [`${path}[].${name}`, notation])),
})

const SHOWN_RECORD: Members = {
  redaction: R1,
  tokenization: 'boolean',
  fields: 'array',
  'fields[]': 'string',
  downloadURL: 'boolean',
  returnFileMetadata: 'boolean',
}

/** "Audit event". */
const EVENT_DATA = (path: string): Members => ({
  [path]: 'object',
  [`${path}.content`]: 'string',
  [`${path}.identifiedFields`]: 'object',
  [`${path}.identifiedFields.counts`]: 'integer',
  [`${path}.identifiedFields.fields`]: 'array',
  [`${path}.identifiedFields.fields[]`]: 'string',
})

const EVENT: Members = {
  context: 'object',
  'context.changeID': 'string required',
  'context.requestID': 'string required',
  'context.traceID': 'string required',
  'context.sessionID': 'string deprecated',
  'context.actor': 'string required',
  'context.actorType': 'USER|SERVICE_ACCOUNT required',
  'context.accessType': 'API|SQL required',
  'context.ipAddress': 'string required',
  'context.origin': 'string',
  'context.authMode': 'IDP_JWT|SERVICE_ACCOUNT_JWT|PAT_JWT|API_KEY|STS required',
  'context.jwtID': 'string required',
  'context.bearerTokenContextID': 'string',
  'context.keyID': 'string',
  'context.subject': 'string',
  'context.clientTraceID': 'string max 128',
  response: 'object',
  'response.code': 'integer required',
  'response.message': 'string required',
  ...EVENT_DATA('response.data'),
  'response.timestamp': 'string required',
  'response.nestedResponse': 'array',
  'response.nestedResponse[]': 'object',
  'response.nestedResponse[].code': 'integer required',
  'response.nestedResponse[].message': 'string required',
  'response.nestedResponse[].identifier': 'string required',
  ...EVENT_DATA('response.nestedResponse[].data'),
}

const AUDIT: SpecifiedEndpoint = {
  method: 'GET',
  path: '/v1/audit/events',
  query: {
    'filterOps.accountID': 'string required',
    'filterOps.parentAccountID': 'string',
    'filterOps.workspaceID': 'string',
    'filterOps.vaultID': 'string',
    'filterOps.resourceIDs': 'string',
    'filterOps.context.changeID': 'string',
    'filterOps.context.requestID': 'string',
    'filterOps.context.sessionID': 'string',
    'filterOps.context.actor': 'string',
    'filterOps.context.actorType': 'NONE|USER|GROUP|SERVICE_ACCOUNT|SQL_SERVICE_ACCOUNT',
    'filterOps.context.accessType': 'ACCESS_NONE|API|SQL|IDP_LOGIN',
    'filterOps.context.ipAddress': 'string',
    'filterOps.context.origin': 'string',
    'filterOps.context.authMode': 'AUTH_NONE|IDP_JWT|SERVICE_ACCOUNT_JWT|PAT_JWT|API_KEY|STS',
    'filterOps.context.jwtID': 'string',
    'filterOps.context.bearerTokenContextID': 'string',
    'filterOps.context.clientTraceID': 'string max 128',
    'filterOps.request.clientInfo.userEmail': 'string',
  },
  responses: {
    200: {
      ...each('event', EVENT),
      nextOps: 'object',
      'nextOps.timestamp': 'string',
      'nextOps.changeID': 'string',
    },
  },
  errors: [400, 401, 404, 500],
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

const TABLE = '/v1/vaults/{vaultID}/{objectName}'

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

const FILE = '/v1/vaults/{vaultID}/{tableName}/{ID}/files/{columnName}'

const FILES: readonly SpecifiedEndpoint[] = [
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

/** The tables of the legacy routes. */
export const LEGACY_TABLE_NAMES = [
  ...['bank_accounts', 'cards', 'consumers', 'credit_scores', 'financial_service_providers', 'merchants', 'transactions'],
]

/** The legacy routes of one table. "records array of objects", "record: object". */
const legacyRoutes = (table: string): readonly SpecifiedEndpoint[] => [
  {
    method: 'GET',
    path: `/v1/vaults/{vaultID}/${table}`,
    query: {
      svc_ids: 'array',
      'svc_ids[]': 'string',
      redaction: `${R1} default DEFAULT`,
      tokenization: 'boolean',
      fields: 'array',
      'fields[]': 'string',
      offset: 'string default 0 int64',
      limit: 'string default 25 int64',
    },
    responses: { 200: { records: 'array' } },
  },
  {
    method: 'DELETE',
    path: `/v1/vaults/{vaultID}/${table}`,
    body: { vaultID: 'string', svc_ids: 'array', 'svc_ids[]': 'string' },
    responses: { 200: { RecordIDResponse: 'array', 'RecordIDResponse[]': 'string' } },
  },
  {
    method: 'POST',
    path: `/v1/vaults/{vaultID}/${table}`,
    body: { vaultID: 'string', records: 'array', 'records[]': 'object' },
    responses: { 200: { records: 'array' } },
  },
  {
    method: 'GET',
    path: `/v1/vaults/{vaultID}/${table}/{ID}`,
    query: { redaction: `${R1} default DEFAULT`, tokenization: 'boolean', fields: 'array', 'fields[]': 'string' },
    responses: { 200: { fields: 'object' } },
  },
  {
    method: 'DELETE',
    path: `/v1/vaults/{vaultID}/${table}/{ID}`,
    responses: { 200: { svc_id: 'string', deleted: 'boolean' } },
  },
  {
    method: 'PUT',
    path: `/v1/vaults/{vaultID}/${table}/{ID}`,
    body: { ID: 'string', vaultID: 'string', record: 'object' },
    responses: { 200: { svc_id: 'string', updatedTime: 'string' } },
  },
]

const LEGACY_TOKENS: readonly SpecifiedEndpoint[] = [
  {
    method: 'GET',
    path: '/v1/vaults/{vaultID}/tokens',
    query: { token_ids: 'array', 'token_ids[]': 'string', redaction: `${R1} default DEFAULT` },
    responses: { 200: { records: 'array' } },
  },
  {
    method: 'GET',
    path: '/v1/vaults/{vaultID}/tokens/{ID}',
    query: { redaction: `${R1} default DEFAULT` },
    responses: { 200: { token_id: 'string', fields: 'object' } },
  },
]

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
