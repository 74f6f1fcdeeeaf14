/** The responses to requests that do not reach the router. */
import { randomUUID } from 'node:crypto'
import { type ErrorCode, VaultError } from '../../index.ts'
import { ALL_STATUSES, errorResponse, toFailure } from '../router/error-response.ts'
import type { HttpResponse } from '../router/http-message.ts'
import { sealed } from '../router/json-response.ts'

/** Returns the envelope of a refusal, with an id of its own. */
export function refusedResponse(code: ErrorCode, sentence: string): HttpResponse {
  const refused = new VaultError(code, `Request failed. ${sentence}`)
  return sealed(errorResponse(toFailure(refused, ALL_STATUSES)), randomUUID())
}

/**
 * Returns the refusal of a body whose transfer encoding no one here decodes; undefined for all others. Node reports one that does not end in
 * "chunked" as an error of the client, and would cut a response that has begun.
 */
export function refusedCoding(coding: string | null | undefined): HttpResponse | undefined {
  if (!coding || !/,\s*chunked\s*$/i.test(coding)) return undefined
  return refusedResponse('unsupported', 'The transfer encoding is not "chunked". Send the body without another one.')
}
