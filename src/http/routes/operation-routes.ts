/** Routes of the operations by their names, as `session.perform` has them: what the client of this package calls. */
import * as z from 'zod'
import { type OperationInput, type OperationName, type OperationResult, VaultError } from '../../index.ts'
import { fileNameOf } from '../body/header-parameters.ts'
import { assertNotEncoded, readJsonBody } from '../body/read-json-body.ts'
import { ALL_STATUSES, errorBody, toFailure } from '../router/error-response.ts'
import { jsonResponse, longJsonResponse } from '../router/json-response.ts'
import { flag, readQuery, text } from '../router/request-shape.ts'
import type { AuthenticatedCall, BearerRoute } from '../router/route.ts'
import { EXAMPLE } from './examples.ts'
import { FILE_METADATA, isObject } from './shapes.ts'
import { downloadHeaders, type FileRange, nothing, parseRange } from './ticket-routes.ts'

/** Operations whose input or result is a stream. */
type Streamed = 'uploadFile' | 'openFile' | 'verifyAudit'

/** Every other operation. */
const NAMES: Readonly<Record<Exclude<OperationName, Streamed>, true>> = {
  insert: true,
  importRecords: true,
  get: true,
  getOne: true,
  update: true,
  updateOne: true,
  updateWhere: true,
  delete: true,
  deleteOne: true,
  deleteWhere: true,
  detokenize: true,
  tokenize: true,
  getByTokens: true,
  query: true,
  reveal: true,
  batch: true,
  listEvents: true,
  countEvents: true,
  deleteFile: true,
  fileStatus: true,
  fileStatuses: true,
  uploadTicket: true,
  downloadTicket: true,
  createCredential: true,
  revokeCredential: true,
  listCredentials: true,
  describeCaller: true,
  describeSchema: true,
  explainQuery: true,
  describeKeys: true,
  listJobs: true,
  describeContents: true,
  describeSchemaChange: true,
  rotateKeys: true,
  destroyKey: true,
  health: true,
  readPolicy: true,
  previewAccess: true,
  checkPolicy: true,
}

/** What the routes have in common. */
const OWN = {
  access: 'bearer',
  group: 'Operations',
  isOwn: true,
  keepsTexts: true,
  verb: 'Request',
  statuses: ALL_STATUSES,
} as const

const ANY_OBJECT = z.record(z.string(), z.unknown())

const performRoute: BearerRoute = {
  ...OWN,
  method: 'POST',
  path: '/v3/vaults/{vaultID}/{operation}',
  name: 'perform',
  parameters: { operation: `Name of the operation: ${Object.keys(NAMES).join(', ')}.` },
  summary: 'Performs an operation of the session.',
  description:
    'Body and response are the input and the result of session.perform, and errors have its texts. An Idempotency-Key header makes a write happen once: repeated with the same body, it returns the same result. The page sizes of the handler do not apply; those of the vault do.',
  operation: undefined,
  body: ANY_OBJECT.optional(),
  response: ANY_OBJECT,
  example: {
    params: { operation: 'getOne' },
    body: { table: EXAMPLE.table, id: EXAMPLE.id, options: { fields: ['name', 'email'], redaction: 'PLAIN_TEXT' } },
    response: { id: EXAMPLE.id, fields: { name: EXAMPLE.fields.name, email: EXAMPLE.fields.email }, levels: {} },
  },
  async handle(call) {
    const { request, params, session } = call
    readQuery({}, call.query())
    const name = params.operation ?? ''
    if (!isOperation(name)) throw new VaultError('not_found', 'This operation does not exist. Check the path.')
    // The operation checks its input.
    const input = ((await bodyOf(call)) ?? {}) as OperationInput<typeof name>
    const result = await session.perform(name, name === 'query' ? untilGone(input, request.signal()) : input)
    return longJsonResponse(200, 'responses' in result ? withErrorBodies(result) : result)
  },
}

function isOperation(name: string): name is keyof typeof NAMES {
  return Object.hasOwn(NAMES, name)
}

/** Returns the JSON body of a request; `{}` without one. */
async function bodyOf({ request, options }: AuthenticatedCall): Promise<unknown> {
  const { maxBodyBytes: maxBytes, maxJsonValues: maxValues } = options.limits
  return request.body === undefined ? {} : readJsonBody(request, { maxBytes, maxValues })
}

/** Returns the input of a query that ends when its client goes away. */
function untilGone(input: unknown, signal: AbortSignal): never {
  const options: unknown = isObject(input) ? Reflect.get(input, 'options') : undefined
  const isChecked = !isObject(input) || (options !== undefined && !isObject(options))
  // What is wrong is for the operation to say.
  return (isChecked ? input : { ...input, options: { ...options, signal } }) as never
}

/** An error has no members in JSON. */
function withErrorBodies({ responses }: OperationResult<'batch'>): object {
  const shown = responses.map((one) => (one.ok ? one : { ok: false, error: errorBody(toFailure(one.error, ALL_STATUSES)) }))
  return { responses: shown }
}

const FILE = {
  table: text('Name of the table.', { isRequired: true }),
  column: text('Name of the file column.', { isRequired: true }),
}

const UPLOAD = {
  ...FILE,
  id: text('Id of the record. Absent: the file is that of a new record.'),
  returnFileMetadata: flag('Return the metadata of the file.'),
}

const uploadRoute: BearerRoute = {
  ...OWN,
  method: 'POST',
  path: '/v3/vaults/{vaultID}/uploadFile',
  name: 'performUploadFile',
  summary: 'Uploads a file to a new or an existing record. The body is its content.',
  description:
    'The name of the file is that of the Content-Disposition header. Its type is detected from the content. An Idempotency-Key header makes it happen once; a repeat is answered before its content is read.',
  operation: 'uploadFile',
  query: UPLOAD,
  body: z.string().meta({ format: 'binary', description: 'The content of the file.' }),
  bodyType: 'application/octet-stream',
  response: z.object({
    id: z.string().describe('Id of the record.'),
    fileMetadata: FILE_METADATA.optional().describe('By file column, with returnFileMetadata.'),
  }),
  example: { query: `table=${EXAMPLE.table}&column=photo&id=${EXAMPLE.id}`, response: { id: EXAMPLE.id } },
  async handle(call) {
    const { request, session } = call
    const { returnFileMetadata, ...place } = readQuery(UPLOAD, call.query())
    assertNotEncoded(request)
    const fileName = fileNameOf(request.header('content-disposition') ?? '')
    const input = {
      ...place,
      file: request.body?.chunks() ?? nothing(),
      ...(fileName === undefined ? {} : { fileName }),
      options: returnFileMetadata === undefined ? {} : { returnFileMetadata },
    }
    return jsonResponse(200, await session.perform('uploadFile', input as OperationInput<'uploadFile'>))
  },
}

const OPEN = { ...FILE, id: text('Id of the record.', { isRequired: true }) }

const openRoute: BearerRoute = {
  ...OWN,
  method: 'GET',
  path: '/v3/vaults/{vaultID}/openFile',
  name: 'performOpenFile',
  summary: 'Returns a file, or a part of it.',
  description:
    'A Range header with one range of bytes is answered with 206, and any other range is refused. The content is an attachment with the type that was detected in it.',
  operation: 'openFile',
  query: OPEN,
  response: undefined,
  responseType: 'application/octet-stream',
  otherResponses: { 206: undefined },
  example: { query: `table=${EXAMPLE.table}&column=photo&id=${EXAMPLE.id}` },
  async handle(call) {
    const range = rangeOf(call)
    const input = { ...readQuery(OPEN, call.query()), options: range === undefined ? {} : { range } }
    const opened = await call.session.perform('openFile', input as OperationInput<'openFile'>)
    const isPart = range !== undefined
    return { status: isPart ? 206 : 200, headers: downloadHeaders(opened, isPart), body: opened.stream }
  },
}

/** Returns the range of a request. One that no file has is for the operation to refuse. */
function rangeOf({ request }: AuthenticatedCall): FileRange | undefined {
  const header = request.header('range')
  return header === undefined ? undefined : (parseRange(header, undefined) ?? { start: Number.NaN })
}

const verifyRoute: BearerRoute = {
  ...OWN,
  method: 'POST',
  path: '/v3/vaults/{vaultID}/verifyAudit',
  name: 'performVerifyAudit',
  summary: 'Verifies the audit trail.',
  description:
    'The response is NDJSON: lines { progress: { done, total } }, and at last { result, milliseconds }, or { error } if it failed. It ends with the connection.',
  operation: 'verifyAudit',
  body: ANY_OBJECT.optional(),
  response: undefined,
  responseType: 'application/x-ndjson',
  example: {},
  async handle(call) {
    readQuery({}, call.query())
    const input = (await bodyOf(call)) as OperationInput<'verifyAudit'>
    const lines = await call.session.perform('verifyAudit', input)
    return { status: 200, headers: { 'content-type': 'application/x-ndjson; charset=utf-8' }, body: toNdjson(lines) }
  },
}

/** Yields the lines. What fails on the way is the last one: the status has been sent. */
async function* toNdjson(lines: AsyncIterable<object>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder()
  const toLine = (line: object) => encoder.encode(`${JSON.stringify(line)}\n`)
  try {
    for await (const line of lines) yield toLine(line)
  } catch (error) {
    yield toLine({ error: errorBody(toFailure(error, ALL_STATUSES)) })
  }
}

/** The routes. */
export const operationRoutes: readonly BearerRoute[] = [performRoute, uploadRoute, openRoute, verifyRoute]
