/** The route of batches. Source: specification, "Batch". */
import { z } from 'zod'
import type { BatchItem, OperationResult } from '../../index.ts'
import type { Names } from '../names.ts'
import type { RouterOptions } from '../options.ts'
import { toFailure } from '../router/error-response.ts'
import type { ErrorStatus } from '../router/error-status.ts'
import { wireMessage } from '../router/error-texts.ts'
import { type Call, operationRoute, type Route } from '../router/route.ts'
import { BY_COLUMN, BYOT, REDACTION } from './shapes.ts'
import { toWireId, toWireRecord } from './wire-records.ts'

const METHODS = ['POST', 'PUT', 'GET', 'DELETE'] as const
const STATUSES: readonly ErrorStatus[] = [400, 401, 404, 422, 500]

/** The members of an item that the vault checks: a wrong one fails its item, and not the request. */
const MEMBERS = [
  ...(['fields', 'tokens', 'ID', 'batchID', 'redaction', 'tokenization', 'upsert', 'downloadURL', 'returnFileMetadata'] as const),
] as const

/** What an item of a request can have. */
const DOCUMENTED_ITEM = z.object({
  tableName: z.string(),
  method: z.enum(METHODS),
  fields: BY_COLUMN.optional(),
  ID: z.string().optional(),
  batchID: z.string().optional(),
  redaction: z.enum(REDACTION).optional(),
  tokenization: z.boolean().optional(),
  downloadURL: z.boolean().optional(),
  upsert: z.string().optional(),
  tokens: BY_COLUMN.optional(),
  returnFileMetadata: z.boolean().optional(),
})

/** An item as it is read: the vault checks its members when its turn comes. */
const ITEM = z.custom<Readonly<Record<string, unknown>>>(
  (given) => typeof given === 'object' && given !== null && !Array.isArray(given),
  'must be an object',
)

function bodyShape<Item extends z.ZodType>(item: Item) {
  return z.object({
    records: z.array(item),
    continueOnError: z.boolean().optional(),
    byot: z.enum(BYOT).optional(),
    vaultID: z.string().optional(),
  })
}

/** Returns the route of batches. */
export function batchRoute({ names }: RouterOptions): Route {
  return operationRoute({
    method: 'POST',
    path: '/v1/vaults/{vaultID}',
    group: 'Batch',
    summary: 'Performs many operations on records in one transaction.',
    operation: 'batch',
    verb: 'Batch',
    statuses: STATUSES,
    body: bodyShape(ITEM),
    describedBody: bodyShape(DOCUMENTED_ITEM),
    response: z.object({ vaultID: z.string(), responses: z.array(z.unknown()) }),
    wireNames: { items: 'records' },
    read: ({ body: { records, continueOnError, byot } }) => ({
      items: records.map((item) => toItem(item, names)),
      options: { ...(continueOnError === undefined ? {} : { continueOnError }), ...(byot === undefined ? {} : { byot }) },
    }),
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

/** Returns an item of the vault. Blank members are absent, and unknown ones are ignored. */
function toItem(given: Readonly<Record<string, unknown>>, names: Names): BatchItem {
  const members: [string, unknown][] = []
  for (const name of MEMBERS) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (value !== undefined && value !== null && value !== '')
      members.push([name, name === 'ID' ? toRecordId(value, names) : value])
  }
  // The vault checks the types of all members.
  return { method: given.method, tableName: given.tableName, ...Object.fromEntries(members) } as BatchItem
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
  if ('records' in value) return { records: value.records.map((record) => toWireId(names, record)) }
  if ('fields' in value) return toWireRecord(value, call)
  if ('deleted' in value) return { [names.id]: value.id, deleted: true }
  return toWireId(names, value)
}

const VERBS: Readonly<Record<string, string>> = { POST: 'Insert', PUT: 'Update', GET: 'Get', DELETE: 'Delete' }

function toError(
  error: unknown,
  names: Names,
  method: unknown,
): { readonly Body: { readonly error: string }; readonly Status: number } {
  const failure = toFailure(error, STATUSES)
  const verb = (typeof method === 'string' && Object.hasOwn(VERBS, method) ? VERBS[method] : undefined) ?? 'Batch'
  return { Body: { error: wireMessage(failure.error, { verb }, names) }, Status: failure.status }
}
