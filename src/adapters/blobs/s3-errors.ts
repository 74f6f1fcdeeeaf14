/** Maps what the S3 client throws to `VaultError`s that carry its code, and never its text, a bucket or a key. */
import { isVaultError, VaultError } from '../../core/errors.ts'
import { noBlobError } from '../../core/util/causes.ts'
import { fullError, strippedCause, unavailableError } from '../errors/storage-errors.ts'

const ENGINE = 'The object store'

/** Names of errors of a client or store that cannot be reached now. */
const UNREACHABLE_NAMES: ReadonlySet<string> = new Set([
  'TimeoutError',
  'RequestTimeout',
  'RequestTimeoutException',
  'SlowDown',
  'ServiceUnavailable',
  'InternalError',
  'ThrottlingException',
  'CredentialsProviderError',
])
/** Codes of a connection that cannot be made, or that ended. */
const UNREACHABLE_CODES =
  /^(ECONN(REFUSED|RESET|ABORTED)|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|EHOSTUNREACH|ENETUNREACH|ERR_STREAM_PREMATURE_CLOSE|UND_ERR_[A-Z_]+)$/

/** What an error of the client is known by. */
interface ClientError {
  readonly name: string | undefined
  readonly code: string | undefined
  readonly status: number | undefined
}

/** True for an object that does not exist. A bucket that does not exist is another error. */
function isNoSuchKey(error: unknown): boolean {
  const { name } = describe(error)
  return name === 'NoSuchKey' || name === 'NotFound'
}

/** True for a multipart upload that was completed, aborted or never created. */
export function isNoSuchUpload(error: unknown): boolean {
  return describe(error).name === 'NoSuchUpload'
}

/** True for a range that begins at or after the end of the object. */
export function isInvalidRange(error: unknown): boolean {
  const { name, status } = describe(error)
  return name === 'InvalidRange' || status === 416
}

/** Returns the error to throw for anything that a request threw. */
export function mapS3Error(error: unknown): VaultError {
  if (isVaultError(error)) return error
  const described = describe(error)
  const { name, code, status } = described
  const cause = strippedCause(ENGINE, name ?? code)
  if (isNoSuchKey(error)) return noBlobError()
  if (status === 507) return fullError(ENGINE, cause)
  if (isUnreachable(described)) return unavailableError('The object store cannot be reached, or is busy. Retry.', cause)
  return new VaultError('internal', 'The object store refused a request.', {}, { cause })
}

function isUnreachable({ name, code, status }: ClientError): boolean {
  if (status !== undefined && (status >= 500 || status === 429 || status === 408)) return true
  if (name !== undefined && UNREACHABLE_NAMES.has(name)) return true
  return code !== undefined && UNREACHABLE_CODES.test(code)
}

/** Reads the name, the code and the status of an error, if they look like these. */
function describe(error: unknown): ClientError {
  if (!(error instanceof Error)) return { name: undefined, code: undefined, status: undefined }
  const name = /^[A-Za-z0-9]{1,60}$/.test(error.name) && error.name !== 'Error' ? error.name : undefined
  const code =
    'code' in error && typeof error.code === 'string' && /^[A-Za-z0-9_]{1,60}$/.test(error.code) ? error.code : undefined
  return { name, code, status: statusOf(error) }
}

function statusOf(error: Error): number | undefined {
  if (!('$metadata' in error) || typeof error.$metadata !== 'object' || error.$metadata === null) return undefined
  const { $metadata } = error
  return 'httpStatusCode' in $metadata && typeof $metadata.httpStatusCode === 'number' ? $metadata.httpStatusCode : undefined
}
