/** What a route must answer for the result of a session's method, by a mapping of the tests' own. Source: specification, "Endpoints". */
import { isVaultError, statusOf, type VaultError } from '../../../src/index.ts'

type Members = Readonly<Record<string, unknown>>

/** An answer without its headers. */
export interface ExpectedAnswer {
  readonly status: number
  readonly body: unknown
}

/** Returns the answer to a result of this method. */
export function expectedResult(method: string, args: readonly unknown[], result: unknown): ExpectedAnswer {
  return { status: 200, body: bodyOf(method, args, Object(result)) }
}

function bodyOf(method: string, args: readonly unknown[], result: Members): unknown {
  switch (method) {
    case 'insert':
      return { records: listOf(result.records).map(stored) }
    case 'insertOne':
      return { records: [stored(result)] }
    case 'updateOne':
      return stored(result)
    case 'get':
      return { records: listOf(result.records).map(shown), ...only(result, ['next']) }
    case 'getOne':
      return shown(result)
    case 'delete':
      return { RecordIDResponse: result.ids }
    case 'deleteOne':
      return { svc_id: result.id, deleted: true }
    case 'detokenize':
      return { records: listOf(result.records).map((record) => only(record, ['token', 'valueType', 'value', 'error'])) }
    case 'tokenize':
      return { records: listOf(result.records).map((record) => only(record, ['token'])) }
    case 'getByTokens':
      return { records: listOf(result.records).map(found) }
    case 'query':
      return { records: listOf(result.records).map((record) => only(record, ['fields'])) }
    case 'listEvents':
      return { event: result.events, ...(result.nextOps === undefined ? {} : { nextOps: result.nextOps }) }
    case 'batch':
      return { vaultID: 'v1', responses: listOf(result.responses).map((response, index) => item(response, index, args)) }
    default:
      throw new Error(`no mapping of ${method}`)
  }
}

function stored(record: Members): Members {
  return { svc_id: record.id, ...only(record, ['tokens']) }
}

function shown(record: Members): Members {
  const { id: svc_id, fields, tokens } = record
  return tokens === undefined ? { fields: { svc_id, ...Object(fields) } } : { fields: { svc_id, ...Object(tokens) }, tokens }
}

function found({ token, id: svc_id, table: table_name, fields, error }: Members): Members {
  if (error !== undefined) return { fields: {}, token, error, http_code: 404 }
  return { fields: { svc_id, ...Object(fields) }, token, table_name, http_code: 200 }
}

const SINGLE: Readonly<Record<string, string>> = { insert: 'insertOne', update: 'updateOne', get: 'getOne', delete: 'deleteOne' }

function item(response: Members, index: number, [items, options]: readonly unknown[]): unknown {
  const given: Members = Object(Array.isArray(items) ? items[index] : undefined)
  if (response.ok !== true) return { Body: bodyOfError(response.error), Status: statusOf(response.error).http }
  const [method = ''] = Object.keys(SINGLE).filter((name) => Object.hasOwn(given, name))
  const payload = bodyOf(SINGLE[method] ?? '', [], Object(response.value))
  return Reflect.get(Object(options), 'continueOnError') === true ? { Body: payload, Status: 200 } : payload
}

function bodyOfError(error: unknown): Members {
  if (!isVaultError(error)) throw new Error('an item failed with no VaultError')
  return { error: wireText(error), code: error.code }
}

/** Returns the envelope of an error, on a route with these statuses. */
export function expectedError(error: VaultError, statuses: readonly number[]): ExpectedAnswer {
  const { http, grpc } = statusOf(error)
  const status = statuses.includes(http) ? http : http < 500 ? 400 : 500
  const phrases: Readonly<Record<number, string>> = {
    400: 'Bad Request',
    401: 'Unauthorized',
    404: 'Not Found',
    422: 'Unprocessable Content',
    500: 'Internal Server Error',
  }
  const details = error.details.map(({ columns: _, ...detail }) => detail)
  const members = { grpc_code: grpc, http_code: status, http_status: phrases[status], message: wireText(error) }
  return { status, body: { error: { ...members, details, code: error.code } } }
}

/** The names of members on the wire. */
const NAMES: readonly (readonly [RegExp, string])[] = [
  [/\bids\b/g, 'svc_ids'],
  [/(?<= cannot be combined with )where\b/, 'column_name'],
  [
    /where must be an object with one column.*|Column .* of where is undefined.*/,
    'column_name and column_values must be given together.',
  ],
  [/\bvalues of where\b|\bwhere\.\w+/g, 'column_values'],
  [/\bid (?=cannot be combined with insert\.|refers to )/, 'ID '],
  [/(?<= cannot be combined with )insert\./, 'method POST.'],
  [/(?<= cannot be combined with )update\./, 'method PUT.'],
  [/(?<= cannot be combined with )get\./, 'method GET.'],
  [/(?<= cannot be combined with )delete\./, 'method DELETE.'],
]

/** Each verb with the names of its lists. */
const LISTS: Readonly<Record<string, string>> = {
  'Detokenize failed. ': 'detokenizationParameters',
  'Tokenize failed. ': 'tokenizationParameters',
}

function wireText({ message, details: [first], code }: VaultError): string {
  const [verb = ''] = /^[\w ]+ failed\. /.exec(message) ?? []
  if (code === 'not_found' && /has (this id|the id at)/.test(message)) {
    const subject = first?.id ?? (message.includes('this id') ? 'This' : `svc_ids[${first?.index ?? 0}]`)
    return `${verb}${subject} isn't a valid svc_id ID. Specify a valid svc_id.`
  }
  const lists = LISTS[verb]
  const text = NAMES.reduce((changed, [name, wire]) => changed.replace(name, wire), message)
  return lists === undefined ? text : text.replace(/\b(tokens|values)\[/g, `${lists}[`)
}

function only(record: unknown, names: readonly string[]): Members {
  return Object.fromEntries(Object.entries(Object(record)).filter(([name, value]) => names.includes(name) && value !== undefined))
}

function listOf(given: unknown): readonly Members[] {
  return Array.isArray(given) ? given : []
}
