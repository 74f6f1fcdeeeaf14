/** Bad inputs of values, records and batches. */
import { type BadInput, type BadInputScene, get, insertion, post, SECRET, TAKEN_TOKEN } from './bad-input.ts'

const VALUES: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  'a number past 2^53 for INTEGER': { salary: 2 ** 53 },
  'an integer past 64 bits': { salary: '9223372036854775808' },
  '1.5 for INTEGER': { salary: 1.5 },
  'a day that does not exist': { born: '2026-02-30' },
  'a date-time without offset': { seen: '2026-01-02T03:04:05' },
  'a scalar for ARRAY': { tags: SECRET },
  'text that does not match the pattern': { ssn: SECRET },
  'text outside oneOf': { country: SECRET },
  'null in a required column': { name: null },
  'text longer than maxLength': { name: SECRET.repeat(9) },
  'a number for STRING': { name: 5 },
  'text for BOOL': { active: 'true' },
}

export const VALUE: readonly BadInput[] = [
  ...Object.entries(VALUES).map(
    ([name, fields]): BadInput => ({ name, codes: [422, 9], request: (scene) => insertion(scene, { name: 'Ann', ...fields }) }),
  ),
  { name: 'a required column that is missing', codes: [422, 9], request: (scene) => insertion(scene, { salary: 1 }) },
  {
    name: 'a unique text over 2,500 characters',
    codes: [422, 9],
    message: /token insertion error/i,
    request: (scene) => insertion(scene, { name: 'Ann', email: `${'x'.repeat(2501)}` }),
  },
]

const put = (target: string, body: unknown) => ({ ...post(target, body), method: 'PUT' })
const UNKNOWN_ID = '6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11'
const page =
  (query: string) =>
  ({ vault }: BadInputScene) =>
    get(`${vault}/people?${query}`)

const PAGES: Readonly<Record<string, readonly [query: string, http: number, grpc: number]>> = {
  'an unknown column in fields': ['fields=emial', 400, 3],
  'an unknown column to look up': ['column_name=emial&column_values=x', 400, 3],
  'a column to look up without values': ['column_name=email', 400, 3],
  'a look-up beside ids': [`svc_ids=${UNKNOWN_ID}&column_name=email&column_values=x`, 400, 3],
  'a look-up in a column that is not unique': ['column_name=name&column_values=x', 400, 3],
  'a limit of 0': ['limit=0', 400, 11],
  'a limit over 25': ['limit=26', 400, 11],
  'a negative limit': ['limit=-1', 400, 11],
  'a limit with a fraction': ['limit=1.5', 400, 11],
  'a limit in exponents': ['limit=1e1', 400, 11],
  'a limit with a space': ['limit=%201', 400, 11],
  'a limit of many digits': ['limit=99999999999999999999', 400, 11],
  'a negative offset': ['offset=-1', 400, 11],
  'an offset that is no number': [`offset=${encodeURIComponent(SECRET)}`, 400, 11],
  'a redaction in lower case': ['redaction=masked', 400, 3],
  'an order in lower case': ['order_by=ascending', 400, 3],
  'a flag in upper case': ['tokenization=TRUE', 400, 3],
  'a flag as a number': ['tokenization=1', 400, 3],
  'a flag that is given twice': ['tokenization=true&tokenization=false', 400, 3],
  'a member of a query that no route has': ['tokenize=true', 400, 3],
  'tokens at a redaction': ['tokenization=true&redaction=MASKED', 400, 3],
  'an id that is malformed': [`svc_ids=${encodeURIComponent(SECRET)}`, 404, 5],
  'an id that does not exist': [`svc_ids=${UNKNOWN_ID}`, 404, 5],
}

export const RECORDS: readonly BadInput[] = [
  {
    name: 'a token that is taken',
    codes: [422, 6],
    request: ({ vault }) =>
      post(`${vault}/people`, { records: [{ fields: { name: 'Bo' }, tokens: { name: TAKEN_TOKEN } }], byot: 'ENABLE' }),
  },
  ...Object.entries(PAGES).map(([name, [query, http, grpc]]): BadInput => ({ name, codes: [http, grpc], request: page(query) })),
  { name: 'an unknown table of a read', codes: [404, 5], request: ({ vault }) => get(`${vault}/nothing`) },
  { name: 'an unknown table of one record', codes: [404, 5], request: ({ vault }) => get(`${vault}/nothing/${UNKNOWN_ID}`) },
  {
    name: 'an unknown table of an insert',
    codes: [400, 5],
    request: ({ vault }) => post(`${vault}/nothing`, { records: [{ fields: {} }] }),
  },
  { name: 'an unknown column of an insert', codes: [400, 3], request: (scene) => insertion(scene, { emial: SECRET }) },
  { name: 'an id of another table', codes: [404, 5], request: ({ vault, order }) => get(`${vault}/people/${order}`) },
  {
    name: 'ids that are partly unknown',
    codes: [404, 5],
    request: ({ vault, person }) => get(`${vault}/people?svc_ids=${person}&svc_ids=${UNKNOWN_ID}`),
  },
  {
    name: 'a deletion of ids that are partly unknown',
    codes: [404, 5],
    request: ({ vault, person }) => ({ ...post(`${vault}/people`, { svc_ids: [person, UNKNOWN_ID] }), method: 'DELETE' }),
  },
  {
    name: 'a deletion of * beside ids',
    codes: [400, 3],
    request: ({ vault, person }) => ({ ...post(`${vault}/people`, { svc_ids: ['*', person] }), method: 'DELETE' }),
  },
  {
    name: 'a deletion without ids',
    codes: [400, 3],
    request: ({ vault }) => ({ ...post(`${vault}/people`, {}), method: 'DELETE' }),
  },
  {
    name: 'an update of an unknown record',
    codes: [404, 5],
    request: ({ vault }) => put(`${vault}/people/${UNKNOWN_ID}`, { record: { fields: { name: 'Bo' } } }),
  },
  {
    name: 'an update without fields',
    codes: [400, 3],
    request: ({ vault, person }) => put(`${vault}/people/${person}`, { record: { fields: {} } }),
  },
  { name: 'an update without a record', codes: [400, 3], request: ({ vault, person }) => put(`${vault}/people/${person}`, {}) },
  {
    name: 'a unique value that is taken',
    codes: [422, 6],
    request: (scene) => insertion(scene, { name: 'Ann', email: 'ann@acme.example' }),
  },
  {
    name: 'an upsert on a column that is not unique',
    codes: [422, 9],
    request: (scene) => insertion(scene, { name: 'Ann' }, { upsert: 'name' }),
  },
  {
    name: 'an upsert on an unknown column',
    codes: [400, 3],
    request: (scene) => insertion(scene, { name: 'Ann' }, { upsert: 'emial' }),
  },
  {
    name: 'an upsert with homogeneous',
    codes: [400, 3],
    request: (scene) => insertion(scene, { name: 'Ann', email: 'b@acme.example' }, { upsert: 'email', homogeneous: true }),
  },
  {
    name: 'an upsert without its value',
    codes: [422, 9],
    request: (scene) => insertion(scene, { name: 'Ann' }, { upsert: 'email' }),
  },
  {
    name: 'homogeneous records with other fields',
    codes: [422, 9],
    request: ({ vault }) =>
      post(`${vault}/people`, { records: [{ fields: { name: 'A' } }, { fields: { name: 'B', salary: 1 } }], homogeneous: true }),
  },
  {
    name: 'tokens with byot DISABLE',
    codes: [422, 9],
    request: ({ vault }) => post(`${vault}/people`, { records: [{ fields: { name: 'Ann' }, tokens: { name: SECRET } }] }),
  },
  {
    name: 'a token missing with byot ENABLE_STRICT',
    codes: [422, 9],
    request: (scene) => insertion(scene, { name: 'Ann' }, { byot: 'ENABLE_STRICT' }),
  },
  { name: 'a byot in lower case', codes: [400, 3], request: (scene) => insertion(scene, { name: 'Ann' }, { byot: 'enable' }) },
  {
    name: 'a token in the form of those of the vault',
    codes: [422, 9],
    request: ({ vault, token }) =>
      post(`${vault}/people`, { records: [{ fields: { name: 'Bo' }, tokens: { name: token } }], byot: 'ENABLE' }),
  },
]

const batch =
  (...records: readonly unknown[]) =>
  ({ vault }: BadInputScene) =>
    post(vault, { records })
const onPerson =
  (item: object) =>
  ({ vault, person }: BadInputScene) =>
    post(vault, { records: [{ tableName: 'people', ID: person, ...item }] })

export const BATCH: readonly BadInput[] = [
  { name: 'no items', codes: [400, 3], request: batch() },
  { name: 'an item that is no object', codes: [400, 3], request: batch(SECRET) },
  { name: 'an unknown method', codes: [400, 3], request: batch({ method: 'PATCH', tableName: 'people' }) },
  {
    name: 'a method in lower case',
    codes: [400, 3],
    request: batch({ method: 'post', tableName: 'people', fields: { name: 'A' } }),
  },
  { name: 'an ID on POST', codes: [400, 3], request: onPerson({ method: 'POST', fields: { name: 'A' } }) },
  { name: 'no ID on GET', codes: [400, 3], request: batch({ method: 'GET', tableName: 'people' }) },
  { name: 'no ID on PUT', codes: [400, 3], request: batch({ method: 'PUT', tableName: 'people', fields: { name: 'A' } }) },
  { name: 'no ID on DELETE', codes: [400, 3], request: batch({ method: 'DELETE', tableName: 'people' }) },
  { name: 'upsert on PUT', codes: [400, 3], request: onPerson({ method: 'PUT', fields: { name: 'A' }, upsert: 'email' }) },
  { name: 'fields on DELETE', codes: [400, 3], request: onPerson({ method: 'DELETE', fields: { name: SECRET } }) },
  { name: 'an unknown table of an item', codes: [404, 5], request: batch({ method: 'POST', tableName: 'nothing', fields: {} }) },
  {
    name: 'a reference to a later item',
    codes: [400, 3],
    request: batch({ method: 'GET', tableName: 'people', ID: '$responses.1.records.0.svc_id' }),
  },
  {
    name: 'a second item that fails',
    codes: [422, 9],
    request: batch(
      { method: 'POST', tableName: 'people', fields: { name: 'A' } },
      { method: 'POST', tableName: 'people', fields: { ssn: SECRET } },
    ),
  },
]
