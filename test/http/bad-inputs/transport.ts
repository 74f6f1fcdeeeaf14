/** Bad inputs of transport, credentials and JSON. */
import { type BadInput, get, insertion, OWNER_HEADERS, post, SECRET } from './bad-input.ts'

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

export const TRANSPORT: readonly BadInput[] = [
  { name: 'an unknown route', codes: [404, 5], request: () => get('/v1/nothing') },
  { name: 'an unknown version', codes: [404, 5], request: ({ vault }) => get(vault.replace('v1', 'v3')) },
  {
    name: 'a known route with another method',
    codes: [400, 12],
    request: ({ vault }) => ({ method: 'PATCH', target: `${vault}/people` }),
  },
  { name: 'a query route asked by GET of a table of that name', codes: [404, 5], request: ({ vault }) => get(`${vault}/query`) },
  { name: 'a bad percent-encoding in the path', codes: [400, 3], request: ({ vault }) => get(`${vault}/peo%zzple`) },
  { name: 'a bad percent-encoding in the query', codes: [400, 3], request: ({ vault }) => get(`${vault}/people?fields=%e0%a4`) },
  { name: 'NUL in the path', codes: [400, 3], request: ({ vault }) => get(`${vault}/people%00`) },
  { name: 'NUL in the query', codes: [400, 3], request: ({ vault }) => get(`${vault}/people?fields=%00`) },
  { name: 'invalid UTF-8 in the path', codes: [400, 3], request: ({ vault }) => get(`${vault}/%ff`) },
  {
    name: 'invalid UTF-8 in the body',
    codes: [400, 3],
    request: ({ vault }) => ({
      method: 'POST',
      target: `${vault}/query`,
      body: Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d),
    }),
  },
  {
    name: 'a body over the limit, of known length',
    codes: [400, 8],
    request: ({ vault }) => post(`${vault}/query`, { query: 'x'.repeat(310_000) }),
  },
  {
    name: 'a body over the limit, in chunks',
    codes: [400, 8],
    request: ({ vault }) => ({
      ...{ method: 'POST', target: `${vault}/query` },
      headers: { ...OWNER_HEADERS, 'transfer-encoding': 'chunked' },
      body: `${(310_000).toString(16)}\r\n${'x'.repeat(310_000)}\r\n0\r\n\r\n`,
    }),
  },
  {
    name: 'a body without a content type',
    codes: [400, 3],
    request: (scene) => ({ ...insertion(scene, {}), headers: { authorization: 'Bearer owner' } }),
  },
  {
    name: 'a body of another content type',
    codes: [400, 3],
    request: (scene) => ({ ...insertion(scene, {}), headers: { ...OWNER_HEADERS, 'content-type': 'text/plain' } }),
  },
  {
    name: 'a compressed body',
    codes: [400, 3],
    request: (scene) => ({ ...insertion(scene, {}), headers: { ...OWNER_HEADERS, 'content-encoding': 'gzip' } }),
  },
]

const CREDENTIALS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'no credential': {},
  'a credential that is not Bearer': { authorization: 'Basic b3duZXI6b3duZXI=' },
  'an empty bearer': { authorization: 'Bearer ' },
  'a bearer over 8 KiB': { authorization: `Bearer ${'x'.repeat(8193)}` },
  'a malformed bearer': { authorization: 'Bearer one two' },
  'an unknown bearer': { authorization: 'Bearer unknown' },
}

/** The one text of credentials that are not valid. */
const REFUSED =
  /^\w[\w ]* failed\. The credential is not valid for this vault\. Send a valid one as "Authorization: Bearer <token>"\.$/

export const CREDENTIAL: readonly BadInput[] = [
  ...Object.entries(CREDENTIALS).map(
    ([name, headers]): BadInput => ({
      name,
      codes: [401, 16],
      message: REFUSED,
      request: ({ vault }) => ({ ...get(`${vault}/people`), headers }),
    }),
  ),
  { name: 'a vault that does not exist', codes: [401, 16], message: REFUSED, request: () => get('/v1/vaults/v9/people') },
  {
    name: 'no credential before a body that is not JSON',
    codes: [401, 16],
    message: REFUSED,
    request: ({ vault }) => ({ method: 'POST', target: `${vault}/query`, headers: { 'content-type': 'text/plain' }, body: '{' }),
  },
  {
    name: 'a caller without grants',
    codes: [401, 7],
    request: ({ vault }) => ({ ...get(`${vault}/people`), headers: { authorization: 'Bearer clerk' } }),
  },
]

const BODIES: Readonly<Record<string, readonly [body: string, grpc?: number]>> = {
  'text that is not JSON': [`{"query": ${SECRET}}`],
  'JSON with more behind it': [`{"query":"SELECT"} ${SECRET}`],
  'a byte order mark': ['\ufeff{"query":"SELECT"}'],
  'a lone surrogate': ['{"query":"\\ud800"}'],
  'duplicate members': [`{"query":"${SECRET}","query":"SELECT"}`],
  'depth over the limit': [`{"query":${deep(65)}}`, 8],
  'a number that is too large': ['{"query":1e999}'],
  'a list at the top': ['[]'],
  'a text at the top': [`"${SECRET}"`],
  'null at the top': ['null'],
  'a member of a wrong type': [`{"query":["${SECRET}"]}`],
  'a required member that is missing': ['{}'],
  'no body': [''],
}

export const JSON_BODIES: readonly BadInput[] = [
  ...Object.entries(BODIES).map(
    ([name, [body, grpc = 3]]): BadInput => ({ name, codes: [400, grpc], request: ({ vault }) => post(`${vault}/query`, body) }),
  ),
  { name: 'an empty list', codes: [400, 3], request: ({ vault }) => post(`${vault}/people`, { records: [] }) },
  {
    name: 'an empty list of tokens',
    codes: [400, 3],
    request: ({ vault }) => post(`${vault}/detokenize`, { detokenizationParameters: [] }),
  },
  {
    name: 'records that are no list',
    codes: [400, 3],
    request: ({ vault }) => post(`${vault}/people`, { records: { fields: SECRET } }),
  },
  {
    name: 'nodes over the limit',
    codes: [400, 8],
    request: ({ vault }) => ({
      ...post(`${vault}/query`, `{"query":[${'1,'.repeat(100_000)}1]}`),
      target: `${vault}/query`,
    }),
  },
  {
    name: 'more records than the limit',
    codes: [400, 8],
    request: ({ vault }) => post(`${vault}/people`, { records: Array.from({ length: 1001 }, () => ({ fields: {} })) }),
  },
  {
    name: '__proto__ as a column',
    codes: [400, 3],
    request: ({ vault }) => post(`${vault}/people`, '{"records":[{"fields":{"__proto__":{"a":1}}}]}'),
  },
  { name: 'constructor as a column', codes: [400, 3], request: (scene) => insertion(scene, { constructor: 'x' }) },
  { name: 'prototype as a column', codes: [400, 3], request: (scene) => insertion(scene, { prototype: 'x' }) },
  {
    name: 'another vaultID in the body',
    codes: [400, 3],
    request: (scene) => insertion(scene, { name: 'Ann' }, { vaultID: SECRET }),
  },
  {
    name: 'another ID in the body',
    codes: [400, 3],
    request: ({ vault, person }) => ({
      ...post(`${vault}/people/${person}`, { record: { fields: { name: 'Bo' } }, ID: SECRET }),
      method: 'PUT',
    }),
  },
]
