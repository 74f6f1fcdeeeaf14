/** Errors an operator must mend: the login, the database, the role, the server. Each says what to change; none names a value. */
import { VaultError } from '../../core/errors.ts'
import { strippedCause } from '../errors/storage-errors.ts'

export const ENGINE = 'PostgreSQL'

/** What to do, by SQLSTATE. */
const SETUP_SENTENCES: Readonly<Record<string, string>> = {
  '28P01': 'PostgreSQL refused the password. Correct the user or the password of the connection.',
  '28000': 'PostgreSQL refused the login. Check the user of the connection, and pg_hba.conf of the server.',
  '3D000': 'The database of the connection does not exist. Create it, or correct the connection.',
  '42501': 'The PostgreSQL role lacks a privilege. Grant it what docs/postgres.md lists.',
  '22P05': 'The encoding of the database lacks a character. Move the vault to a database with the encoding UTF8.',
  '25006': 'The PostgreSQL server accepts no writes, as a standby does. Connect to the primary.',
}

/** What to do where no connection was opened, by the operating system's code or SQLSTATE. */
const CONNECT_SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'No PostgreSQL server accepts connections at this address. Start it, or correct host and port, then retry.',
  ENOTFOUND: 'The host of the PostgreSQL server is unknown. Correct it, then retry.',
  EAI_AGAIN: 'The host of the PostgreSQL server could not be looked up. Check the name service, then retry.',
  '53300': 'PostgreSQL has no free connection. Lower maxConnections or raise max_connections, then retry.',
  '57P03': 'PostgreSQL is starting or shutting down. Retry.',
}

const NO_CONNECTION =
  'Could not connect to PostgreSQL in time. Check that it is reachable, accepts the login, and has connections to spare, then retry.'

/** Errors that no retry mends. They stay `unavailable` for callers, and stop a vault from being opened. */
const setupErrors = new WeakSet<VaultError>()

/** `unavailable` that an operator must mend. */
export function setupError(sentence: string, cause: Error): VaultError {
  const error = new VaultError('unavailable', sentence, {}, { cause })
  setupErrors.add(error)
  return error
}

/** The setup error of an SQLSTATE, if it has one. */
export function setupErrorOf(state: string, cause: Error): VaultError | undefined {
  const sentence = Object.hasOwn(SETUP_SENTENCES, state) ? SETUP_SENTENCES[state] : undefined
  return sentence === undefined ? undefined : setupError(sentence, cause)
}

/** The error to throw while a vault is opened: `failed_precondition` for what no retry mends. */
export function toOpeningError(error: VaultError): VaultError {
  if (!setupErrors.has(error)) return error
  const cause = error.cause instanceof Error ? error.cause : strippedCause(ENGINE, undefined)
  return new VaultError('failed_precondition', error.message, error.details, { cause })
}

/** `unavailable`: no connection. `code` is an SQLSTATE or a code of the operating system. */
export function noConnectionError(code: string | undefined, cause: Error): VaultError {
  if (code === undefined) return new VaultError('unavailable', NO_CONNECTION, {}, { cause })
  const setup = setupErrorOf(code, cause)
  if (setup !== undefined) return setup
  const sentence = Object.hasOwn(CONNECT_SENTENCES, code) ? CONNECT_SENTENCES[code] : undefined
  return new VaultError('unavailable', sentence ?? NO_CONNECTION, {}, { cause })
}
