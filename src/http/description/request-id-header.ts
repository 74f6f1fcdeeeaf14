/** The header that every response has, in the API description. */
import type { OpenApiHeader } from './openapi.ts'

/** The id of the request. */
export const REQUEST_ID_HEADER: OpenApiHeader = {
  description: 'Id of the request, as its audit events have it. A well-formed one of the request is taken.',
  required: true,
  schema: { type: 'string', minLength: 36, maxLength: 36 },
}

/** The headers of a response: references to the shared ones. */
export const REQUEST_ID_REFERENCE = { 'x-request-id': { $ref: '#/components/headers/RequestID' } } as const
