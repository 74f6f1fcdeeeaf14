/** Bad inputs of tokens, queries and audit events. */
import { type BadInput, get, post, SECRET } from './bad-input.ts'

const detokenize = (parameters: object, options: object = {}) => ({ detokenizationParameters: [parameters], ...options })
const tokenize = (parameters: object) => ({ tokenizationParameters: [parameters] })

const BODIES: Readonly<Record<string, readonly [path: string, body: object, http: number, grpc: number]>> = {
  'an unknown token': ['detokenize', detokenize({ token: SECRET }), 404, 5],
  'an unknown token alone with continueOnError': ['detokenize', detokenize({ token: SECRET }, { continueOnError: true }), 404, 5],
  'a token of 1 MB': ['detokenize', detokenize({ token: 'x'.repeat(90_000) }), 400, 8],
  'a redaction of another case': ['detokenize', detokenize({ token: 'x', redaction: 'masked' }), 400, 3],
  'a token that is no text': ['detokenize', detokenize({ token: 5 }), 400, 3],
  'neither a group nor a column': ['tokenize', tokenize({ value: SECRET }), 400, 3],
  'a table without a column': ['tokenize', tokenize({ value: SECRET, table: 'people' }), 400, 3],
  'a group and a column': ['tokenize', tokenize({ value: SECRET, table: 'people', column: 'code', columnGroup: 'kin' }), 400, 3],
  'a column whose tokens are random': ['tokenize', tokenize({ value: SECRET, table: 'people', column: 'name' }), 422, 9],
  'a value that was never stored': ['tokenize', tokenize({ value: SECRET, table: 'people', column: 'code' }), 404, 5],
  'an unknown group': ['tokenize', tokenize({ value: SECRET, columnGroup: 'nothing' }), 400, 3],
}

export const TOKENS: readonly BadInput[] = [
  ...Object.entries(BODIES).map(
    ([name, [path, body, http, grpc]]): BadInput => ({
      name,
      codes: [http, grpc],
      request: ({ vault }) => post(`${vault}/${path}`, body),
    }),
  ),
  {
    name: 'a legacy token that is unknown',
    codes: [404, 5],
    request: ({ vault }) => get(`${vault}/tokens/${encodeURIComponent(SECRET)}`),
  },
  {
    name: 'legacy tokens that are unknown',
    codes: [404, 5],
    request: ({ vault }) => get(`${vault}/tokens?token_ids=${encodeURIComponent(SECRET)}`),
  },
  { name: 'no legacy tokens', codes: [400, 3], request: ({ vault }) => get(`${vault}/tokens`) },
  {
    name: 'levels of get_by_tokens in upper case',
    codes: [400, 3],
    request: () => post('/v2/vaults/v1/records/get_by_tokens', { tokens: ['x'], redaction: 'MASKED' }),
  },
]

const QUERIES: Readonly<Record<string, readonly [query: string, http: number, grpc: number, message?: RegExp]>> = {
  'an empty query': ['', 400, 3],
  'a query that is too long': [`SELECT name FROM people WHERE email = '${'x'.repeat(17_000)}'`, 400, 8],
  'a query that is nested too deep': [`SELECT name FROM people WHERE ${'('.repeat(70)}name = 'x'${')'.repeat(70)}`, 400, 8],
  'a syntax error': [`SELECT name FROM people WHERE = '${SECRET}'`, 400, 3, /Line 1, column \d+/],
  'a statement outside the subset': ['DELETE FROM people', 400, 12, /DELETE/],
  'a clause outside the subset': ['SELECT name FROM people GROUP BY name HAVING name > name', 400, 12, /HAVING/],
  'a function outside the subset': ['SELECT lower(name) FROM people', 400, 12],
  'an operator outside the subset': ['SELECT name FROM people WHERE salary % 5', 400, 12],
  'an unknown table': ['SELECT name FROM nothing', 400, 5],
  'an unknown column': ['SELECT emial FROM people', 400, 3],
  'an ambiguous column': ['SELECT name FROM people JOIN people AS other ON people.email = other.email', 400, 3],
  '? on a plain column': ["SELECT name FROM people WHERE country ? 'x'", 422, 9],
  'types that cannot compare': ['SELECT name FROM people WHERE born = salary', 422, 9],
  'a literal that is no value of the type': [`SELECT name FROM people WHERE born = '${SECRET}'`, 422, 9],
  'a condition on a transient column': [`SELECT name FROM people WHERE pin = '${SECRET}'`, 422, 9],
  'a negative LIMIT': ['SELECT name FROM people LIMIT -1', 400, 11],
  'an OFFSET that is no integer': ['SELECT name FROM people OFFSET 1.5', 400, 11],
}

export const QUERY: readonly BadInput[] = [
  ...Object.entries(QUERIES).map(
    ([name, [query, http, grpc, message]]): BadInput => ({
      ...{ name, codes: [http, grpc] },
      ...(message === undefined ? {} : { message }),
      request: ({ vault }) => post(`${vault}/query`, { query }),
    }),
  ),
  {
    name: 'a condition on a column that is seen masked only',
    codes: [401, 7],
    request: ({ vault }) => ({
      ...post(`${vault}/query`, { query: `SELECT name FROM people WHERE ssn = '${SECRET}'` }),
      headers: { authorization: 'Bearer reader', 'content-type': 'application/json' },
    }),
  },
]

const EVENTS: Readonly<Record<string, readonly [query: string, grpc: number]>> = {
  'no accountID': ['limit=1', 3],
  'an unknown actor type': ['filterOps.accountID=v1&filterOps.context.actorType=ROBOT', 3],
  'a time that is not RFC 3339': ['filterOps.accountID=v1&filterOps.startTime=yesterday', 3],
  'a clientTraceID over 128 characters': [`filterOps.accountID=v1&filterOps.context.clientTraceID=${'x'.repeat(129)}`, 3],
  'afterOps with an offset': [
    'filterOps.accountID=v1&afterOps.timestamp=2026-01-01T00:00:00.000000000Z&afterOps.changeID=x&offset=1',
    3,
  ],
  'a limit over 100': ['filterOps.accountID=v1&limit=101', 11],
}

export const AUDIT: readonly BadInput[] = Object.entries(EVENTS).map(([name, [query, grpc]]) => ({
  ...{ name, codes: [400, grpc] },
  request: () => get(`/v1/audit/events?${query}`),
}))
