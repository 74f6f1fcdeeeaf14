/** Errors an operator must mend: the login, the database, the role, the server. Each says what to change; none names a value. */
import { VaultError } from '../../core/errors.ts'
import { strippedCause } from '../errors/storage-errors.ts'

export const ENGINE = 'PostgreSQL'

/** What to do, by SQLSTATE. */
const SETUP_SENTENCES: Readonly<Record<string, string>> = {
  '28P01': 'PostgreSQL refused the password. Correct the user or the password of the connection.',
  '28000':
    'PostgreSQL refused the login. Check the user of the connection, whether the server demands TLS or a certificate, and its pg_hba.conf.',
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

const UNTRUSTED =
  'The certificate of the PostgreSQL server is from an authority that is not trusted here. Connect with the certificate of that authority (sslrootcert, or ca of ssl).'

/** What to do where the server was reached and no connection can be agreed on, by the code of the system. */
const HANDSHAKE_SENTENCES: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'The certificate of the PostgreSQL server is self-signed, and not trusted here. Connect with that certificate as the authority (sslrootcert, or ca of ssl), or give the server one of an authority.',
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_UNTRUSTED: UNTRUSTED,
  CERT_HAS_EXPIRED: 'The certificate of the PostgreSQL server has expired. Renew it.',
  CERT_NOT_YET_VALID: 'The certificate of the PostgreSQL server is not valid yet. Check the clocks of both machines.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'The certificate of the PostgreSQL server names another host. Connect to a host that it names, or give the server one that names this host.',
  ERR_INVALID_URL: 'The connectionString is no address. Write it as postgres://user:password@host:port/database.',
  ENOENT: 'A file of the connection does not exist: the socket of the server, or a certificate. Correct its path.',
}

const NO_HANDSHAKE = 'The TLS handshake with PostgreSQL failed. Check the protocol versions and certificates of both sides.'
const OTHER_SERVER = 'What answers at this address is no PostgreSQL server. Correct host and port.'
const ENDED = 'The pool was ended by the application, and gives no connection. Give the storage a pool that is open.'

/** The same by what the driver says, which has no codes. */
const DRIVER_SENTENCES: readonly (readonly [says: RegExp, sentence: string])[] = [
  [
    /does not support SSL/,
    'The PostgreSQL server offers no TLS. Turn it on there (ssl = on), or connect without it (sslmode=disable).',
  ],
  [/password must be a/i, 'PostgreSQL asks for a password, and the connection has none. Add it to the connection.'],
  [/after calling end on the pool/, ENDED],
  [/received invalid response/, OTHER_SERVER],
]

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

/** Errors of connections without a reason. */
const unexplained = new WeakSet<VaultError>()

/**
 * The error to throw while a vault is opened: `failed_precondition` for what no retry mends. `speaksOtherwise` resolves to true if something else than
 * PostgreSQL answers at the address.
 */
export async function toOpeningError(error: VaultError, speaksOtherwise: () => Promise<boolean>): Promise<VaultError> {
  const cause = error.cause instanceof Error ? error.cause : strippedCause(ENGINE, undefined)
  if (setupErrors.has(error)) return new VaultError('failed_precondition', error.message, error.details, { cause })
  if (!unexplained.has(error) || !(await speaksOtherwise())) return error
  return new VaultError('failed_precondition', OTHER_SERVER, {}, { cause })
}

/** The reason for which no connection was opened: an SQLSTATE or a code of the operating system, and what the driver says. */
export interface ConnectFailure {
  readonly code: string | undefined
  readonly text: string
}

/** `unavailable`: no connection. */
export function noConnectionError({ code = '', text }: ConnectFailure, cause: Error): VaultError {
  const setup = setupErrorOf(code, cause)
  if (setup !== undefined) return setup
  const handshake = handshakeSentence(code) ?? DRIVER_SENTENCES.find(([says]) => says.test(text))?.[1]
  if (handshake !== undefined) return setupError(handshake, cause)
  const sentence = Object.hasOwn(CONNECT_SENTENCES, code) ? CONNECT_SENTENCES[code] : undefined
  const error = new VaultError('unavailable', sentence ?? NO_CONNECTION, {}, { cause })
  if (sentence === undefined) unexplained.add(error)
  return error
}

function handshakeSentence(code: string): string | undefined {
  if (Object.hasOwn(HANDSHAKE_SENTENCES, code)) return HANDSHAKE_SENTENCES[code]
  return code.startsWith('ERR_SSL_') || code === 'EPROTO' ? NO_HANDSHAKE : undefined
}
