/** The response to a request that does not reach the router. */
import { randomUUID } from 'node:crypto'
import { type ErrorCode, VaultError } from '../../index.ts'
import { errorResponse, toFailure } from '../router/error-response.ts'
import { ALL_STATUSES } from '../router/error-status.ts'
import type { HttpResponse } from '../router/http-message.ts'
import { sealed } from '../router/security-headers.ts'

/** Returns the envelope of a refusal, with an id of its own. */
export function refusedResponse(code: ErrorCode, sentence: string): HttpResponse {
  const refused = new VaultError(code, `Request failed. ${sentence}`)
  return sealed(errorResponse(toFailure(refused, ALL_STATUSES)), randomUUID())
}
