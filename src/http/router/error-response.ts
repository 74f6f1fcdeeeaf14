/** The envelope of errors. Source: specification, "Error envelope". */
import { type ErrorCode, type ErrorDetail, isVaultError, statusOf, VaultError } from '../../index.ts'
import { type ErrorStatus, STATUS_TEXTS } from './error-status.ts'
import type { HttpResponse } from './http-message.ts'
import { jsonResponse } from './json-response.ts'

/** What the router answers with in place of a response: a `VaultError`, and the status that its route documents. */
export interface Failure {
  readonly error: VaultError
  readonly status: number
}

/** Returns an error as a `VaultError`. Of any other error nothing is said. */
export function toFailure(error: unknown, statuses: readonly ErrorStatus[]): Failure {
  const known = isVaultError(error)
    ? error
    : new VaultError('internal', 'Something unexpected went wrong. The request id finds it in the log.')
  return { error: known, status: documentedStatus(statusOf(known).http, statuses) }
}

/** Returns a status that the route documents: a refusal it does not know is 400, and a failure 500. */
function documentedStatus(status: number, statuses: readonly number[]): number {
  if (statuses.includes(status)) return status
  return status >= 400 && status < 500 ? 400 : 500
}

/** Returns a failure as callers without a credential get it: of what is behind the server, they learn nothing but the code. */
export function withConstantText({ error, status }: Failure): Failure {
  return status < 500 ? { error, status } : { error: new VaultError(error.code, constantText(error.code)), status }
}

function constantText(code: ErrorCode): string {
  switch (code) {
    case 'unavailable':
    case 'aborted':
    case 'storage_full':
      return 'The server cannot process the request now. Send it again later.'
    case 'outcome_unknown':
      return 'It is unknown whether the request was processed. Check before sending it again.'
    default:
      return 'The server failed to process the request. The request id finds it in the log.'
  }
}

/** Returns the response of a failure. */
export function errorResponse({ error, status }: Failure, message = error.message): HttpResponse {
  return jsonResponse(status, {
    error: {
      grpc_code: error.grpcCode,
      http_code: status,
      http_status: STATUS_TEXTS[status] ?? 'Error',
      message: message.slice(0, MAX_MESSAGE_LENGTH),
      details: error.details.map(toDetail),
    },
  })
}

const MAX_MESSAGE_LENGTH = 1000

/** Physical columns mean nothing to a caller. */
function toDetail({ columns: _, ...detail }: ErrorDetail): Omit<ErrorDetail, 'columns'> {
  return detail
}
