/** The errors of the scanner. None quotes a file, or what clamd says: names of files in archives could be in it. */
import { VaultError } from '../../core/errors.ts'
import { bareCause, errorCode } from '../../core/util/causes.ts'

/** `unavailable`: no connection. `error` is the platform's. */
export function unreachableError(error: unknown): VaultError {
  return unavailable('clamd cannot be reached. Start it, or correct its address, then retry.', error)
}

/** `unavailable`: the connection ended before the whole reply. */
export function lostError(error?: unknown): VaultError {
  return unavailable('clamd ended the connection before its reply. Look at its log, then retry.', error)
}

/** `unavailable`: nothing happened for as long as `timeoutMs` says. */
export function stalledError(timeoutMs: number): VaultError {
  return unavailable(`clamd made no progress for ${timeoutMs} ms. Look at its log and load, then retry.`)
}

/** `unavailable`: clamd called a file clean that it had not read to its end. */
export function earlyReplyError(): VaultError {
  return unavailable('clamd replied before it had the whole file. Check that the address is that of a clamd, then retry.')
}

/** `unavailable`: a reply that is not of the protocol. */
export function malformedReplyError(): VaultError {
  return unavailable('The reply is not one of clamd. Check that the address is that of a clamd, then retry.')
}

/** `unavailable`: clamd failed. */
export function reportedError(): VaultError {
  return unavailable('clamd reported an error. Look at its log, then retry.')
}

/** `unavailable`: clamd calls files clean that it does not read. */
export function settingsError(what: string, settings: string): VaultError {
  return unavailable(`clamd calls ${what} clean. Set ${settings} in its configuration and start it again, then retry.`)
}

/** `cancelled`: the caller gave up. */
export function cancelledError(): VaultError {
  return new VaultError('cancelled', 'The scan was cancelled.')
}

/** `internal`: the content of a file does not have the length that was said. */
export function lengthError(): VaultError {
  return new VaultError(
    'internal',
    'The content of the scanned file does not have the length of the file. This is a defect; please report it.',
  )
}

function unavailable(message: string, error?: unknown): VaultError {
  return new VaultError(
    'unavailable',
    message,
    {},
    error === undefined ? {} : { cause: bareCause(`The connection failed: ${codeOf(error)}`) },
  )
}

/** The code of an error of the platform, such as ECONNREFUSED. Its text is left out. */
function codeOf(error: unknown): string {
  return errorCode(error) ?? 'no code'
}
