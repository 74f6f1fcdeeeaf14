/** The responses of errors in the API description, and the header that every response has. Source: specification, "Error envelope", "Errors". */
import * as z from 'zod'
import { type ErrorCode, STATUSES, VaultError } from '../../index.ts'
import { ALL_STATUSES, type ErrorStatus, errorBody, STATUS_TEXTS } from '../router/error-response.ts'
import { type Components, toJsonSchema } from './json-schema.ts'
import type { OpenApiHeader, OpenApiResponse } from './openapi.ts'

/** Where an error is. */
const ERROR_DETAIL = z
  .looseObject({
    table: z.string().optional().describe('Name of the table.'),
    column: z.string().optional().describe('Name of the column.'),
    index: z.int().nonnegative().optional().describe('Position of the record, token or item in the request, from 0.'),
    id: z.string().optional().describe('Id of the record.'),
    position: z
      .object({ line: z.int().positive(), column: z.int().positive(), length: z.int().nonnegative() })
      .optional()
      .describe('Place in the text of a query.'),
  })
  .meta({ title: 'ErrorDetail', description: 'Where the error is: names and positions, never a value or a token.' })

/** What an error is. */
const ERROR_CODE = z
  .enum(Object.keys(STATUSES))
  .meta({ title: 'ErrorCode', description: 'What the error is: one of the codes of the library. The specification has none.' })

/** The body of every error. */
const ERROR_ENVELOPE = z
  .object({
    error: z
      .object({
        grpc_code: z.int().min(0).max(16).describe('Code of gRPC: it says more than the status.'),
        http_code: z.int().min(100).max(599).describe('Status of the response.'),
        http_status: z.string().max(100).describe('Reason phrase of the status.'),
        message: z.string().max(1000).describe('What failed, what is wrong where, and what to do.'),
        details: z.array(ERROR_DETAIL).max(25).describe('Where the error is. Empty if there is nothing to locate.'),
        code: ERROR_CODE,
      })
      .describe('The error.'),
  })
  .meta({ title: 'ErrorEnvelope', description: 'The body of every response that is no success.' })

/** What each status means, and an example of it. */
const MEANINGS: Readonly<Record<ErrorStatus, readonly [meaning: string, code: ErrorCode, example: string]>> = {
  400: ['The request is invalid or cannot be served.', 'invalid_request', 'Insert failed. records is required.'],
  401: [
    'The credential is missing or not valid for this vault, or the policy does not allow the request.',
    'unauthenticated',
    'Get failed. The credential is not valid for this vault. Send a valid one as "Authorization: Bearer <token>".',
  ],
  404: [
    'The table, record, token or file does not exist for the caller.',
    'not_found',
    'Get failed. Table "orders" does not exist.',
  ],
  422: [
    'The request is well-formed, but a value or a state does not allow it.',
    'unprocessable',
    'Update failed. fields must name a column.',
  ],
  500: [
    'Something unexpected went wrong. With code aborted or unavailable nothing was stored, and the request can be sent again.',
    'internal',
    'Query failed. Something unexpected went wrong. The request id finds it in the log.',
  ],
}

/** Returns the responses of errors by name. */
export function errorResponses(components: Components): Readonly<Record<string, OpenApiResponse>> {
  const schema = components.share(toJsonSchema(ERROR_ENVELOPE, 'output'))
  return Object.fromEntries(
    ALL_STATUSES.map((status) => {
      const [description, code, message] = MEANINGS[status]
      const example = { error: errorBody({ error: new VaultError(code, message), status }) }
      return [
        nameOf(status),
        { description, headers: REQUEST_ID_REFERENCE, content: { 'application/json': { schema, example } } },
      ]
    }),
  )
}

/** Returns the reference to the response of an error. */
export function errorReference(status: ErrorStatus): { readonly $ref: string } {
  return { $ref: `#/components/responses/${nameOf(status)}` }
}

/** Returns `BadRequest` for 400. */
function nameOf(status: ErrorStatus): string {
  return (STATUS_TEXTS[status] ?? '').replaceAll(' ', '')
}

/** The id of the request. */
export const REQUEST_ID_HEADER: OpenApiHeader = {
  description: 'Id of the request, as its audit events have it. A well-formed one of the request is taken.',
  required: true,
  schema: { type: 'string', minLength: 36, maxLength: 36 },
}

/** The headers of a response: references to the shared ones. */
export const REQUEST_ID_REFERENCE = { 'x-request-id': { $ref: '#/components/headers/RequestID' } } as const
