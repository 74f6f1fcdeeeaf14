/** The legacy endpoints, as the specification has them. */
import { R1, type SpecifiedEndpoint } from './specified-members.ts'

/** The tables of the legacy routes. */
export const LEGACY_TABLE_NAMES = [
  ...['bank_accounts', 'cards', 'consumers', 'credit_scores', 'financial_service_providers', 'merchants', 'transactions'],
]

/** The legacy routes of one table. "records array of objects", "record: object". */
export const legacyRoutes = (table: string): readonly SpecifiedEndpoint[] => [
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

/** "Legacy token routes". */
export const LEGACY_TOKENS: readonly SpecifiedEndpoint[] = [
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
