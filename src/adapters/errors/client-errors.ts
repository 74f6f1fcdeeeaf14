/** What errors of the clients of services are known by, without their text, which can quote a name, a key or a value. */
import { errorCode } from '../../core/util/causes.ts'

/** The parts of an error that quote nothing. */
interface AwsError {
  readonly name: string | undefined
  readonly code: string | undefined
  readonly status: number | undefined
}

/** Names of errors of any client that cannot reach its service now, or has no credentials now. */
const UNAVAILABLE_NAMES: ReadonlySet<string> = new Set([
  'TimeoutError',
  'RequestTimeoutException',
  'ThrottlingException',
  'CredentialsProviderError',
])
/** Codes of a connection that cannot be made, or that ended. */
const DISCONNECTED_CODES =
  /^(ECONN(REFUSED|RESET|ABORTED)|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|EHOSTUNREACH|ENETUNREACH|ERR_STREAM_PREMATURE_CLOSE|UND_ERR_[A-Z_]+)$/

/** True for an error of any client that says that a connection cannot be made, or that it ended. */
export function isDisconnected(error: unknown): boolean {
  return DISCONNECTED_CODES.test(errorCode(error) ?? '')
}

/** Reads the name, the code and the status of an error, if they look like these. */
export function describeAwsError(error: unknown): AwsError {
  if (!(error instanceof Error)) return { name: undefined, code: undefined, status: undefined }
  const name = /^[A-Za-z0-9]{1,60}$/.test(error.name) && error.name !== 'Error' ? error.name : undefined
  return { name, code: errorCode(error), status: statusOf(error) }
}

/** True for an error that says that the service cannot be reached, is busy or fails. */
export function isAwsUnavailable(error: unknown): boolean {
  const { name, status } = describeAwsError(error)
  if (status !== undefined && (status >= 500 || status === 429 || status === 408)) return true
  return (name !== undefined && UNAVAILABLE_NAMES.has(name)) || isDisconnected(error)
}

function statusOf(error: Error): number | undefined {
  if (!('$metadata' in error) || typeof error.$metadata !== 'object' || error.$metadata === null) return undefined
  const { $metadata } = error
  return 'httpStatusCode' in $metadata && typeof $metadata.httpStatusCode === 'number' ? $metadata.httpStatusCode : undefined
}
