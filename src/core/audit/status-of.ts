/** The HTTP status an outcome is recorded with. Source: specification, "Errors". */
import type { ErrorCode } from '../errors.ts'

/** Refusal is 401: the documented sets of the endpoints know no 403. */
const STATUSES: Readonly<Record<ErrorCode, number>> = {
  invalid_request: 400,
  unauthenticated: 401,
  forbidden: 401,
  not_found: 404,
  rule_broken: 422,
  conflict: 422,
  unavailable: 500,
  internal: 500,
}

/** Status of an operation that ended with this error; one that went well has 200. */
export function statusOf(code: ErrorCode): number {
  return STATUSES[code]
}
