/** Errors as they come over the wire, and those of the way there. */
import { type ErrorDetail, isErrorCode, VaultError } from '../core/errors.ts'

/** The members of an error in JSON that a client reads. */
interface ErrorBody {
  readonly code?: unknown
  readonly message?: unknown
  readonly details?: unknown
  readonly http_code?: unknown
}

/** Returns the error of a vault; undefined for anything else. */
export function readError(body: unknown): VaultError | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const { code, message, details, http_code: status }: ErrorBody = body
  if (!isErrorCode(code) || typeof message !== 'string') return undefined
  // A body with one of the codes is that of a vault.
  const located = Array.isArray(details) ? (details as ErrorDetail[]) : []
  return new VaultError(code, message, located, { httpStatus: typeof status === 'number' ? status : undefined })
}

/** Returns the error of a response: that of the vault, or of something before it that answered in its place. */
export async function errorOf(response: Response): Promise<{ readonly error: VaultError; readonly isOfVault: boolean }> {
  const text = await response.text()
  const error = readError(Reflect.get(Object(parsed(text)), 'error'))
  if (error !== undefined) return { error, isOfVault: true }
  const { status } = response
  const code = status === TOO_MANY || status >= 500 ? 'unavailable' : 'invalid_request'
  const sentence = `Request failed. The address answered ${status} without the error of a vault. Check the url.`
  return { error: new VaultError(code, sentence, [], { httpStatus: status }), isOfVault: false }
}

/** The status of too many requests: what has it was not processed. */
export const TOO_MANY = 429

/** Returns the value of JSON; undefined for other text. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the error of a request that was not answered. A write may be stored. */
export function lost(isWrite: boolean, why: string, cause?: unknown): VaultError {
  const sentence = isWrite
    ? `Request failed. ${why} The write may be stored: check before sending it again.`
    : `Request failed. ${why} Send it again later.`
  // An error of fetch quotes the address at most.
  return new VaultError(isWrite ? 'outcome_unknown' : 'unavailable', sentence, [], {
    cause: cause instanceof Error ? cause : undefined,
  })
}

/** Returns the error after an abort, as the vault words it. */
export function cancelled(): VaultError {
  return new VaultError('cancelled', 'Request failed. It was cancelled by its AbortSignal.')
}
