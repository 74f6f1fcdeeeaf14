/** Bad inputs of files. */
import { multipart, type Part } from '../../support/http/multipart.ts'
import type { WireRequest } from '../../support/http/wire.ts'
import { type BadInput, get, post, SECRET } from './bad-input.ts'

const UNKNOWN_ID = '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11'
const TABLE: Part = { key: 'tableName', content: 'papers' }
const COLUMN: Part = { key: 'columnName', content: 'scan' }
const FILE: Part = { key: 'file', content: SECRET, fileName: `${SECRET}.txt` }

function upload(...parts: readonly Part[]): WireRequest {
  const { body, headers } = multipart(...parts)
  return { method: 'POST', target: '/v2/vaults/v1/files/upload', body, headers: { authorization: 'Bearer owner', ...headers } }
}

const UPLOADS: Readonly<Record<string, readonly [parts: readonly Part[], http: number, grpc: number]>> = {
  'two files': [[TABLE, COLUMN, FILE, FILE], 400, 3],
  'no file': [[TABLE, COLUMN], 400, 3],
  'no table': [[COLUMN, FILE], 400, 3],
  'an unknown part': [[TABLE, COLUMN, { key: 'more', content: SECRET }, FILE], 400, 3],
  'an empty file': [[TABLE, COLUMN, { ...FILE, content: '' }], 422, 9],
  'a file that is too large': [[TABLE, COLUMN, { ...FILE, content: SECRET.repeat(100) }], 400, 8],
  'a column that holds no file': [[TABLE, { ...COLUMN, content: 'title' }, FILE], 422, 9],
  'an unknown column': [[TABLE, { ...COLUMN, content: 'nothing' }, FILE], 400, 3],
  'an unknown table': [[{ ...TABLE, content: 'nothing' }, COLUMN, FILE], 404, 5],
  'an unknown record': [[TABLE, COLUMN, { key: 'svcID', content: UNKNOWN_ID }, FILE], 404, 5],
}

export const FILES: readonly BadInput[] = [
  ...Object.entries(UPLOADS).map(
    ([name, [parts, http, grpc]]): BadInput => ({ name, codes: [http, grpc], request: () => upload(...parts) }),
  ),
  {
    name: 'an upload that is not multipart',
    codes: [400, 3],
    request: () => post('/v2/vaults/v1/files/upload', { file: SECRET }),
  },
  {
    name: 'an upload without a boundary',
    codes: [400, 3],
    request: () => ({
      ...upload(TABLE, COLUMN, FILE),
      headers: { authorization: 'Bearer owner', 'content-type': 'multipart/form-data' },
    }),
  },
  { name: 'a ticket that no vault issued', codes: [404, 5], request: () => get(`/v1/files/${encodeURIComponent(SECRET)}`) },
  {
    name: 'a file of an unknown record',
    codes: [404, 5],
    request: ({ vault }) => ({ method: 'DELETE', target: `${vault}/papers/${UNKNOWN_ID}/files/scan` }),
  },
  {
    name: 'upload statuses of no record',
    codes: [400, 3],
    request: () => post('/v2/vaults/v1/files/uploadStatus', { records: [] }),
  },
  {
    name: 'upload URLs of an unknown table',
    codes: [404, 5],
    request: () => post('/v2/vaults/v1/files/uploadURL', { tableName: 'nothing', fileColumns: ['scan'] }),
  },
]
