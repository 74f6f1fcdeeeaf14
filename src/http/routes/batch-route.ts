/** The route of batches. Source: specification, "Batch". */
import * as z from 'zod'
import type { BatchItem, ErrorCode, OperationResult } from '../../index.ts'
import type { Names } from '../names.ts'
import type { RouterOptions } from '../options.ts'
import { type ErrorStatus, toFailure, wireMessage } from '../router/error-response.ts'
import { type Call, operationRoute, type Route, type RouteExample } from '../router/route.ts'
import { EXAMPLE } from './examples.ts'
import {
  BY_COLUMN,
  BYOT_MEMBER,
  flagMember,
  isObject,
  REDACTION_MEMBER,
  toWireId,
  toWireIds,
  toWireRecord,
  UPSERT_MEMBER,
  VAULT_MEMBER,
} from './shapes.ts'

const METHODS = ['POST', 'PUT', 'GET', 'DELETE'] as const

/** The methods of the wire, and those of the vault. */
const METHOD_OF: Readonly<Record<string, 'insert' | 'update' | 'get' | 'delete'>> = {
  POST: 'insert',
  PUT: 'update',
  GET: 'get',
  DELETE: 'delete',
}
const STATUSES: readonly ErrorStatus[] = [400, 401, 404, 422, 500]

/** The members of an item that the vault checks: a wrong one fails its item, and not the request. */
const MEMBERS = [
  ...(['fields', 'tokens', 'ID', 'batchID', 'redaction', 'tokenization', 'upsert', 'downloadURL', 'returnFileMetadata'] as const),
] as const

/** What an item of a request can have. */
const DOCUMENTED_ITEM = z
  .object({
    tableName: z.string().describe('Name of the table.'),
    method: z.enum(METHODS).describe('POST inserts, PUT updates, GET reads, and DELETE deletes a record.'),
    fields: BY_COLUMN.optional().describe('Values by column, for POST and PUT.'),
    ID: z
      .string()
      .optional()
      .describe(
        'Id of the record, for GET, PUT and DELETE; or $responses.0.records.0. and the name of ids, for the record of item 0.',
      ),
    batchID: z.string().optional().describe('Items with the same batchID run in order.'),
    redaction: REDACTION_MEMBER,
    tokenization: flagMember('Return the tokens of the record.'),
    downloadURL: flagMember('Return an URL, valid for 15 minutes, for each file that can be downloaded. For GET.'),
    upsert: UPSERT_MEMBER,
    tokens: BY_COLUMN.optional().describe('Tokens by column. For POST and PUT.'),
    returnFileMetadata: flagMember('Return the metadata of files. For GET.'),
  })
  .meta({ title: 'BatchRecord', description: 'An operation on a record.' })

/** An item as it is read: the vault checks its members when its turn comes. */
const ITEM = z.custom<Readonly<Record<string, unknown>>>(isObject, 'must be an object')

function bodyShape<Item extends z.ZodType>(item: Item) {
  return z.object({
    records: z.array(item).describe('The operations, one or more.'),
    continueOnError: flagMember('Go on after an operation that failed; only that one is rolled back.'),
    byot: BYOT_MEMBER.describe('As of an insert. Absent: ENABLE if an item has tokens.'),
    vaultID: VAULT_MEMBER,
  })
}

/** Returns the route of batches. */
export function batchRoute({ names }: RouterOptions): Route {
  return operationRoute({
    method: 'POST',
    path: '/v1/vaults/{vaultID}',
    name: 'batch',
    example: exampleOf(names),
    group: 'Batch',
    summary: 'Performs many operations on records in one transaction.',
    operation: 'batch',
    verb: 'Batch',
    statuses: STATUSES,
    body: bodyShape(ITEM),
    describedBody: bodyShape(DOCUMENTED_ITEM),
    response: z.object({
      vaultID: z.string().describe('Id of the vault.'),
      responses: z
        .array(z.unknown())
        .describe(
          'In the order of the request: what the route of the single operation answers; with continueOnError { Body, Status }.',
        ),
    }),
    wireNames: { items: 'records', ...ITEM_NAMES },
    read({ body: { records, continueOnError, byot: given } }) {
      const items = records.map((item) => toItem(item, names))
      // The specification has tokens of an item, and no mode for them.
      const byot = given ?? (items.some((item) => item.tokens !== undefined) ? 'ENABLE' : undefined)
      return { items, options: { ...(continueOnError === undefined ? {} : { continueOnError }), ...(byot && { byot }) } }
    },
    write: ({ responses }, { body, params, call }) => ({
      vaultID: params.vaultID ?? '',
      responses: responses.map((response, index) => {
        const method = body.records[index]?.method
        if (!response.ok) return toError(response.error, names, method)
        const payload = toPayload(response.value, call)
        return body.continueOnError === true ? { Body: payload, Status: 200 } : payload
      }),
    }),
  })
}

/** A record that is inserted, and read by its id. */
function exampleOf({ id: name }: Names): RouteExample {
  const { table: tableName, otherID: id, fields } = EXAMPLE
  const added = { ...fields, name: 'Bo Dahl', email: 'bo@acme.example' }
  return {
    body: {
      records: [
        { method: 'POST', tableName, fields: added, batchID: '1' },
        { method: 'GET', tableName, ID: `$responses.0.records.0.${name}`, redaction: 'PLAIN_TEXT', batchID: '1' },
      ],
    },
    response: {
      vaultID: EXAMPLE.vaultID,
      responses: [{ records: [{ [name]: id }] }, { fields: { [name]: id, ...added, photo: null } }],
    },
  }
}

/** Returns an item of the vault. Members that are blank or have their default are absent, and unknown ones are ignored. */
function toItem(given: Readonly<Record<string, unknown>>, names: Names): BatchItem {
  const members: [string, unknown][] = []
  const hasFields = given.method === 'POST' || given.method === 'PUT'
  for (const name of MEMBERS) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    const isEmpty = name === 'tokens' || (name === 'fields' && !hasFields) ? isEmptyObject(value) : false
    if (value === undefined || value === null || value === '' || value === DEFAULTS[name] || isEmpty) continue
    // All items run in order, so the vault has no such member, and refuses what is no text.
    if (name === 'batchID' && typeof value === 'string') continue
    members.push([VAULT_NAMES[name] ?? name, name === 'ID' ? toRecordId(value, names) : value])
  }
  // The vault checks the types of all members.
  return { ...toMethod(given), ...Object.fromEntries(members) } as BatchItem
}

/** Returns the method with the name of the table. The vault refuses an item without a method, or with a name that is no text. */
function toMethod({ method, tableName }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const name = typeof method === 'string' && Object.hasOwn(METHOD_OF, method) ? METHOD_OF[method] : undefined
  return name === undefined ? {} : { [name]: tableName ?? null }
}

/** Members that the vault calls otherwise, and these names in its errors. */
const VAULT_NAMES: Readonly<Partial<Record<(typeof MEMBERS)[number], string>>> = { ID: 'id', downloadURL: 'downloadTickets' }
const ITEM_NAMES = { id: 'ID' } as const

/** The defaults of the specification. Some clients send every member of an item, also those that its method does not have. */
const DEFAULTS: Readonly<Partial<Record<(typeof MEMBERS)[number], unknown>>> = {
  redaction: 'DEFAULT',
  tokenization: false,
  downloadURL: false,
  returnFileMetadata: false,
}

/** The specification requires `fields` of every item, also where it is valid for POST and PUT only. */
function isEmptyObject(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0
}

/** Returns an id, or the reference that `$responses.0.records.0.svc_id` is: the record of an earlier item. */
function toRecordId(given: unknown, { id }: Names): unknown {
  if (typeof given !== 'string' || !given.startsWith('$responses.')) return given
  const [, position, path] = /^\$responses\.(\d{1,6})\.(.+)$/.exec(given) ?? []
  if (path !== `records.0.${id}` && path !== `fields.${id}` && path !== id) return given
  return { response: Number(position) }
}

type Value = Extract<OperationResult<'batch'>['responses'][number], { readonly ok: true }>['value']

/** Returns the payload of an item, as the route of the single operation answers it. */
function toPayload(value: Value, call: Call): unknown {
  const { names } = call.options
  if ('fields' in value) return toWireRecord(value, call)
  if ('deleted' in value) return { [names.id]: value.id, deleted: true }
  return 'updatedAt' in value ? toWireId(names, value) : { records: toWireIds(names, [value]) }
}

const VERBS: Readonly<Record<string, string>> = { POST: 'Insert', PUT: 'Update', GET: 'Get', DELETE: 'Delete' }

function toError(
  error: unknown,
  names: Names,
  method: unknown,
): { readonly Body: { readonly error: string; readonly code: ErrorCode }; readonly Status: number } {
  const failure = toFailure(error, STATUSES)
  const verb = (typeof method === 'string' && Object.hasOwn(VERBS, method) ? VERBS[method] : undefined) ?? 'Batch'
  const message = wireMessage(failure.error, { verb, wireNames: ITEM_NAMES }, names)
  return { Body: { error: message, code: failure.error.code }, Status: failure.status }
}
