/** Random requests to the routes of a handler: valid ones, ones with a part replaced, and bytes that are no request. */
import type { Route } from '../../../src/http/router/route.ts'
import { makeInvalid } from '../leaks/invalid-input.ts'
import { withDigits } from '../leaks/model.ts'
import type { SeededRandom } from '../random/seeded-random.ts'
import type { HttpVocabulary } from './http-vocabulary.ts'
import { validBody } from './valid-bodies.ts'
import type { WireRequest } from './wire.ts'

/** A request, or the bytes of none. */
export type Sent = { readonly request: WireRequest } | { readonly bytes: string }

/** Returns a random request. */
export function randomSent(random: SeededRandom, vocabulary: HttpVocabulary): Sent {
  if (random.chance(0.02)) return { bytes: random.pick(MALFORMED) }
  const apt = vocabulary.routes.filter(({ group, path }) => group !== 'Legacy records' || path.includes('/cards'))
  const route = random.pick(random.chance(0.9) ? apt : vocabulary.routes)
  const body = bodyFor(random, route, vocabulary)
  const method = random.chance(0.97) ? route.method : random.pick(['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE'])
  const target = `${pathFor(random, route, vocabulary)}${queryFor(random, route, vocabulary)}`
  return { request: { method, target, headers: headersFor(random, body, vocabulary), ...(body === undefined ? {} : { body }) } }
}

/** Requests that the parser of the server refuses. */
const MALFORMED: readonly string[] = [
  'GET / HTTP/9.9\r\nhost: x\r\n\r\n',
  'GET /\0 HTTP/1.1\r\nhost: x\r\n\r\n',
  'G=T / HTTP/1.1\r\nhost: x\r\n\r\n',
  'GET / HTTP/1.1\r\nhost: x\r\nno colon\r\n\r\n',
  'GET / HTTP/1.1\r\nhost: x\r\na: \u0001\r\n\r\n',
  'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}',
  'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: minus\r\n\r\n{}',
  'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
  'POST /v1/vaults/v1/query HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\n\r\nx',
  `GET / HTTP/1.1\r\nhost: x\r\na: ${'x'.repeat(17_000)}\r\n\r\n`,
  '{"records":[]}\r\n\r\n',
]

function pathFor(random: SeededRandom, { path }: Route, vocabulary: HttpVocabulary): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => segmentFor(random, name, vocabulary))
  if (random.chance(0.96)) return filled
  return random.pick([
    `${filled}/`,
    filled.slice(0, -1),
    filled.replace('v1', 'v3'),
    filled.toUpperCase(),
    `/${filled}`,
    `${filled}/${random.pick(['%', '%zz', '%00', '%ff', '..', 'é'])}`,
    `http://other.example${filled}`,
    `${filled}#part`,
    '*',
  ])
}

function segmentFor(random: SeededRandom, name: string, vocabulary: HttpVocabulary): string {
  const { vaultIDs, tables, ids, tokens, canary } = vocabulary
  const known: Readonly<Record<string, readonly string[]>> = {
    vaultID: vaultIDs,
    objectName: tables,
    tableName: tables,
    columnName: ['scan', 'title', 'name'],
    ID: [...ids, ...ids, ...tokens],
  }
  const apt = known[name] ?? tokens
  if (apt.length > 0 && random.chance(0.96)) return encodeURIComponent(random.pick(apt))
  const strange = [canary, '__proto__', '*', '%', 'a/b', '..', 'x'.repeat(3000), '\0', 'é', '$responses.0.svc_id', ...tables]
  return encodeURIComponent(random.pick(strange))
}

const LEVELS = ['DEFAULT', 'PLAIN_TEXT', 'MASKED', 'REDACTED']
const COLUMNS = ['name', 'email', 'ssn', 'country', 'born', 'salary', 'notes', 'scan', 'title']

function queryFor(random: SeededRandom, { query = {} }: Route, vocabulary: HttpVocabulary): string {
  const names = random.sample(Object.keys(query), random.below(4))
  const members = names.flatMap((name) => {
    const count = /s$/.test(name) || random.chance(0.05) ? 1 + random.below(3) : 1
    return Array.from({ length: count }, () => `${encodeURIComponent(name)}=${memberFor(random, name, vocabulary)}`)
  })
  if (random.chance(0.03))
    members.push(random.pick(['unknown=1', 'unknown', '%', '=', '&', '%ff=1', 'a=%00', '__proto__=1', `x=${'y'.repeat(3000)}`]))
  return members.length === 0 ? '' : `?${members.join('&')}`
}

function memberFor(random: SeededRandom, name: string, { ids, tokens, canary }: HttpVocabulary): string {
  const apt: Readonly<Record<string, readonly string[]>> = {
    svc_ids: ids,
    token_ids: tokens,
    redaction: LEVELS,
    fields: COLUMNS,
    column_name: COLUMNS,
    column_values: ['ann@acme.example', 'SE', '2001-02-03'],
    order_by: ['ASCENDING', 'DESCENDING', 'NONE'],
    limit: ['1', '25'],
    offset: ['0', '3'],
    'filterOps.accountID': ['v1'],
    'filterOps.vaultID': ['v1'],
  }
  const likely = apt[name] ?? ['true', 'false']
  if (likely.length > 0 && random.chance(0.85)) return encodeURIComponent(random.pick(likely))
  const strange = [
    '',
    canary,
    '-1',
    '1.5',
    '99999999999999999999',
    'TRUE',
    'plain_text',
    '1e3',
    ' 1',
    '__proto__',
    ...LEVELS,
    'é',
  ]
  return encodeURIComponent(random.pick(strange))
}

function bodyFor(random: SeededRandom, route: Route, vocabulary: HttpVocabulary): string | Uint8Array | undefined {
  const valid = validBody(random, route, vocabulary)
  if (valid === undefined) return random.chance(0.7) ? undefined : random.pick(['', '{}', '{"ID":"x"}', '[]', 'null', '{'])
  if (random.chance(0.6)) return textOf(valid)
  if (random.chance(0.6)) return textOf(replaced(random, valid, vocabulary))
  return random.chance(0.6) ? damaged(random, textOf(valid)) : random.pick<() => string | Uint8Array>(GARBAGE)()
}

/** The body with one part replaced. */
function replaced(random: SeededRandom, body: unknown, { canary }: HttpVocabulary): unknown {
  return makeInvalid(random, { method: '', args: [body] }, canary).args[0]
}

function textOf(body: unknown): string {
  return JSON.stringify(body, withDigits) ?? ''
}

/** The text with up to three characters cut, doubled or put in. */
function damaged(random: SeededRandom, text: string): string {
  const at = random.below(text.length + 1)
  const end = at + random.below(4)
  return random.pick([
    text.slice(0, at),
    text.slice(0, at) + text.slice(end),
    text.slice(0, end) + text.slice(at),
    `${text.slice(0, at)}${random.pick(['\\', '"', '\0', '\ud800', '{', ']', ',', '\\u0000', '\\ud800', '1e999', '\u2028'])}${text.slice(at)}`,
  ])
}

const GARBAGE: readonly (() => string | Uint8Array)[] = [
  () => '',
  () => '\ufeff{}',
  () => 'query=SELECT',
  () => '"text"',
  () => '[]',
  () => 'null',
  () => '{"records":[],"records":[]}',
  () => '['.repeat(100) + ']'.repeat(100),
  () => `{"records":[${'{},'.repeat(60_000)}{}]}`,
  () => `{"query":"${'x'.repeat(150_000)}"}`,
  () => `{"records":[${'{"fields":{"name":"Ann"}},'.repeat(1001)}{"fields":{}}]}`,
  () => Uint8Array.of(0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d),
]

function headersFor(random: SeededRandom, body: unknown, vocabulary: HttpVocabulary): Record<string, string> {
  const { credentials, canary } = vocabulary
  const credential = random.chance(0.95)
    ? `Bearer ${random.pick(credentials)}`
    : random.pick(['', 'Bearer', 'Basic eDp5', 'Bearer \u0080'])
  const type = random.chance(0.95)
    ? random.pick([
        'application/json',
        'application/json',
        'application/json; charset=utf-8',
        'application/x-www-form-urlencoded',
      ])
    : random.pick(['text/plain', 'application/json; charset=latin1', 'multipart/form-data', 'application/json;;', '/', ''])
  const more: Readonly<Record<string, string>> = {
    'x-request-id': random.pick(['6c0f5b52-7b5e-4d07-9f0e-4a3f6f6f9f11', 'short', 'x'.repeat(36), '']),
    origin: 'https://app.example',
    traceparent: random.pick(['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 'junk', '00-0-0-0']),
    'x-client-trace-id': random.pick(['trace-1', 'x'.repeat(200)]),
    'x-forwarded-for': random.pick(['10.0.0.1', 'junk, , 1']),
    'content-encoding': random.pick(['gzip', 'identity']),
    cookie: encodeURIComponent(canary),
    connection: random.pick(['close', 'keep-alive']),
  }
  return {
    ...(random.chance(0.98) ? { authorization: credential } : {}),
    ...(body === undefined || random.chance(0.02) ? {} : { 'content-type': type }),
    ...Object.fromEntries(random.sample(Object.entries(more), random.chance(0.3) ? 2 : 0)),
  }
}
