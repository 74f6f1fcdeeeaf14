/** Calls of a session as requests over HTTP, by a mapping of the tests' own. */
import { type LeakRequest, textOf } from '../leaks/known-values.ts'
import { withDigits } from '../leaks/model.ts'
import type { WireRequest } from './wire.ts'

type Members = Readonly<Record<string, unknown>>

/**
 * Returns the call with what HTTP can carry of it: values of JSON, texts in a query, and no `onLowered`. Undefined for a call that has no route, as a
 * query with values, a read in the order of a column or of several, or a record without an id: its path is that of the table, because a slash behind a path changes nothing.
 */
export function carried({ method, args }: LeakRequest): LeakRequest | undefined {
  if (!Object.hasOwn(TO_WIRE, method) || (method === 'query' && args.length > 1)) return undefined
  if (method === 'get' && readsByValue(args[1])) return undefined
  if (args.slice(0, SEGMENTS[method] ?? 0).some((segment) => textOf(segment) === '')) return undefined
  const plain: readonly unknown[] = JSON.parse(JSON.stringify(args, withDigits))
  if (method === 'tokenize') return { method, args: plain.map((given) => listOf(given).map(carriedValue)) }
  return { method, args: plain.map((arg) => (isObject(arg) ? carriedOptions(arg) : arg)) }
}

/** True for a list of an empty text, which a query of a URL does not distinguish from none. */
function isNoList(fields: unknown): boolean {
  return Array.isArray(fields) && fields.length > 0 && fields.every((name) => name === '')
}

/** True for what the route of the specification has no place for. */
function readsByValue(options: unknown): boolean {
  const { where, orderBy }: Members = Object(options)
  const terms = isObject(where) ? Object.values(where) : []
  const isOrder = orderBy === undefined || ['ASCENDING', 'DESCENDING', 'NONE'].includes(String(orderBy))
  return !isOrder || terms.length > 1 || terms.some(isObject)
}

function carriedValue(given: unknown): unknown {
  return isObject(given) ? { ...given, value: textOf(given.value) } : given
}

/** Over HTTP, the values of a look-up are a list of texts. */
function carriedOptions({ onLowered: _, onConflict: _ignored, where, fields, ...others }: Members): Members {
  const options = fields === undefined || isNoList(fields) ? others : { ...others, fields }
  if (!isObject(where)) return options
  return {
    ...options,
    where: Object.fromEntries(Object.entries(where).map(([name, values]) => [name, listOf(values).map(textOf)])),
  }
}

/** Returns the request of a call that HTTP can carry. */
export function wireRequestOf({ method, args }: LeakRequest): Omit<WireRequest, 'headers'> {
  const [verb, path, { query, body }] = TO_WIRE[method]?.(args) ?? ['GET', '/', {}]
  const members = Object.entries(query ?? {}).flatMap(([name, value]) => listOf(value).map((item) => [name, textOf(item)]))
  const text = members.map((member) => member.map((part) => encodeURIComponent(part ?? '')).join('=')).join('&')
  const target = `${path}${text === '' ? '' : `?${text}`}`
  return { method: verb, target, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
}

type Parts = readonly [verb: string, path: string, parts: { readonly query?: Members; readonly body?: Members }]

const TO_WIRE: Readonly<Record<string, (args: readonly unknown[]) => Parts>> = {
  insert: ([table, records, options]) => ['POST', at(table), { body: { records, ...Object(options) } }],
  updateOne: ([table, id, fields, options]) => ['PUT', at(table, id), { body: { record: { fields }, ...Object(options) } }],
  get: ([table, options]) => ['GET', at(table), { query: renamed(options) }],
  getOne: ([table, id, options]) => ['GET', at(table, id), { query: renamed(options) }],
  delete: ([table, ids]) => ['DELETE', at(table), { body: { svc_ids: ids === '*' ? ['*'] : ids } }],
  deleteOne: ([table, id]) => ['DELETE', at(table, id), {}],
  detokenize: ([given, options]) => ['POST', at('detokenize'), { body: { detokenizationParameters: given, ...Object(options) } }],
  tokenize: ([given]) => ['POST', at('tokenize'), { body: { tokenizationParameters: given } }],
  getByTokens: ([tokens, options]) => [
    'POST',
    '/v2/vaults/v1/records/get_by_tokens',
    { body: { tokens, ...lowerCase(options) } },
  ],
  query: ([query]) => ['POST', at('query'), { body: { query } }],
  // Without byot, tokens of an item are taken over HTTP alone: the specification has none there.
  batch: ([records, options]) => [
    'POST',
    '/v1/vaults/v1',
    { body: { records: listOf(records).map(wireItem), byot: 'DISABLE', ...Object(options) } },
  ],
  listEvents: ([query]) => ['GET', '/v1/audit/events', { query: flattened(query) }],
}

const METHODS: Readonly<Record<string, string>> = { insert: 'POST', update: 'PUT', get: 'GET', delete: 'DELETE' }

/** An item of a batch as the wire has it. */
function wireItem(item: unknown): unknown {
  const { id: ID, ...members }: Members = Object(item)
  const [verb = ''] = Object.keys(METHODS).filter((name) => Object.hasOwn(members, name))
  const { [verb]: tableName, ...others } = members
  return { method: METHODS[verb], tableName, ...(ID === undefined ? {} : { ID }), ...others }
}

/** How many arguments of a call are segments of its path: table and id. */
const SEGMENTS: Readonly<Record<string, number>> = { insert: 1, updateOne: 2, get: 1, getOne: 2, delete: 1, deleteOne: 2 }

function at(...segments: readonly unknown[]): string {
  return ['/v1/vaults/v1', ...segments.map((segment) => encodeURIComponent(textOf(segment)))].join('/')
}

const NAMES: Readonly<Record<string, string>> = {
  ids: 'svc_ids',
  orderBy: 'order_by',
}

function renamed(options: unknown): Members {
  const { where, ...others }: Members = Object(options)
  const [[column_name, column_values] = []] = Object.entries(Object(where))
  const lookup = column_name === undefined ? {} : { column_name, column_values }
  return Object.fromEntries(Object.entries({ ...others, ...lookup }).map(([name, value]) => [NAMES[name] ?? name, value]))
}

/** This route has its levels in lower case, and DEFAULT by leaving them out. */
function lowerCase(options: unknown): Members {
  const { redaction = 'DEFAULT', ...others }: Members = Object(options)
  return redaction === 'DEFAULT'
    ? others
    : { ...others, redaction: typeof redaction === 'string' ? redaction.toLowerCase() : redaction }
}

/** `{ filterOps: { accountID } }` as `filterOps.accountID`. */
function flattened(part: unknown, prefix = ''): Members {
  const members = Object.entries(Object(part)).map(([name, value]) =>
    isObject(value) ? flattened(value, `${prefix}${name}.`) : { [`${prefix}${name}`]: value },
  )
  return Object.assign({}, ...members)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
