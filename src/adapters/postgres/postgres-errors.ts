/** Maps what PostgreSQL and its driver throw to `VaultError`s that carry the SQLSTATE and never the text, which may quote values. */
import { isVaultError, VaultError } from '../../core/errors.ts'
import type { Cell } from '../../core/ports/storage.ts'
import { conflictError, engineError, fullError, strippedCause, unavailableError } from '../errors/storage-errors.ts'
import type { TableShape } from '../sql/table-shapes.ts'
import { knownName, printedKey } from './postgres-sql-dialect.ts'
import { toWireCell } from './wire-cells.ts'

/** What was being done, so that an error can name the table and the row. */
export interface FailedStatement {
  readonly shape?: TableShape
  /** Columns of a unique index by the index's name, as prepared. */
  readonly uniqueColumns?: ReadonlyMap<string, readonly string[]>
  /** The cells a statement wrote, in the query of the request. */
  readonly written?: readonly Readonly<Record<string, Cell>>[]
  /** Position in the request of the first of them. */
  readonly start?: number
}

/**
 * Why the same work may succeed if run again: it lost against another transaction and was rolled back, or its connection has forgotten its
 * prepared statements, as after DISCARD ALL.
 */
type RetryReason = 'contention' | 'forgotten'

const RETRY_REASONS: Readonly<Record<string, RetryReason>> = {
  '40001': 'contention',
  '40P01': 'contention',
  '26000': 'forgotten',
}

const retryables = new WeakMap<Error, RetryReason>()

/** Why the work that threw an error may be run again, even if core wrapped the error; undefined if not. */
export function retryReason(thrown: unknown): RetryReason | undefined {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 8; error = error.cause, depth++) {
    const reason = retryables.get(error) ?? RETRY_REASONS[sqlState(error) ?? '']
    if (reason !== undefined) return reason
  }
  return undefined
}

/** Marks an error of any kind: the work that threw it may be run again. */
export function markRetryable(error: unknown, reason: RetryReason): void {
  if (error instanceof Error) retryables.set(error, reason)
}

/** True when the connection cannot be used again. */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlState(error)
  return state === undefined || state.startsWith('08') || state.startsWith('57P') || ENDED_BY_SERVER.includes(state)
}

/** The server closed the connection: the transaction was idle for too long, or took too long. */
const ENDED_BY_SERVER = ['25P03', '25P04']

/** True if the default of the session refused a statement that is alone: to write at all, or beside another that changed the same. */
export function isRefusedByDefault(error: unknown): boolean {
  const state = sqlState(error)
  // At READ COMMITTED no statement fails to serialize.
  return state === '25006' || state === '40001'
}

/** The error to throw where a transaction did not begin. A standby has a state of its own for the access that is asked for. */
export function beginError(error: unknown): unknown {
  return sqlState(error) === '0A000' ? (setupErrorOf('25006', postgresCause(error)) ?? error) : error
}

/** The error to throw where no connection was opened. */
export function connectError(error: unknown): VaultError {
  return noConnectionError({ code: codeOf(error), text: textOf(error, 'message') ?? '' }, postgresCause(error))
}

/** The cause to attach: the SQLSTATE or the operating system's code (`ECONNREFUSED`), and nothing else. */
export function postgresCause(error: unknown): Error {
  return strippedCause(ENGINE, codeOf(error))
}

function codeOf(error: unknown): string | undefined {
  const code = textOf(error, 'code')
  return code !== undefined && /^[0-9A-Z_]+$/.test(code) ? code : undefined
}

export function sqlState(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || isVaultError(error) || !('code' in error)) return undefined
  // Node's own codes (ECONNRESET) hold no digit; EPIPE has five letters.
  return typeof error.code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined
}

/** The error to throw for anything a statement threw. */
export function mapPostgresError(error: unknown, context: FailedStatement): VaultError {
  if (isVaultError(error)) return error
  const state = sqlState(error)
  const cause = postgresCause(error)
  if (state === undefined) return unavailableError('The connection to PostgreSQL was lost or could not be opened. Retry.', cause)
  if (state === '23505') return uniqueError(error, context, cause)
  if (state === '54000') return tooLongError(error, context, cause)
  if (state === '40001' || state === '40P01') return retryableError(cause)
  return errorOfState(state, context, cause)
}

function retryableError(cause: Error): VaultError {
  const message =
    'PostgreSQL ended a transaction that had a deadlock or a serialization conflict with others. Run it again, from its beginning.'
  const error = new VaultError('aborted', message, {}, { cause })
  markRetryable(error, 'contention')
  return error
}

function errorOfState(state: string, context: FailedStatement, cause: Error): VaultError {
  switch (state) {
    case '22003':
      return new VaultError('out_of_range', 'A number is beyond the range of its type.', {}, { cause })
    case '53100':
      return fullError(ENGINE, cause)
    case '55P03':
      return unavailableError('PostgreSQL timed out waiting for a lock. Retry.', cause)
    case '57014':
      return unavailableError('PostgreSQL ended a statement that exceeded statement_timeout. Retry, or raise the limit.', cause)
    case '25P03':
    case '25P04':
      return unavailableError('PostgreSQL ended a transaction that paused or took too long. Retry, or raise the limit.', cause)
    case '57P05':
      return unavailableError(
        'PostgreSQL ended a connection that was idle. Retry, and raise idle_session_timeout or set it to 0.',
        cause,
      )
    case '25P02':
      return new VaultError(
        'internal',
        'An earlier statement of this transaction failed, so no other can run in it. Roll it back.',
        {},
        { cause },
      )
    case '26000':
    case '42P05':
      return new VaultError(
        // Work that must run once ends with this where its statements were dropped. Its connection is replaced.
        state === '26000' ? 'aborted' : 'internal',
        'The prepared statement is not on this connection. Behind a transaction pooler set preparedStatements: false.',
        {},
        { cause },
      )
  }
  const setup = setupErrorOf(state, cause)
  if (setup !== undefined) return setup
  if (UNAVAILABLE_CLASSES.some((start) => state.startsWith(start))) {
    return unavailableError('PostgreSQL is not available. Retry.', cause)
  }
  return engineError(ENGINE, context.shape?.name, cause)
}

/** Connection, authorization, resources, operator's shutdown, system errors. */
const UNAVAILABLE_CLASSES = ['08', '28', '53', '57P', '58']

/** True if a statement divided by zero, as only one that stores several changes does. */
export function isDivisionByZero(error: unknown): boolean {
  return sqlState(error) === '22012'
}

/** The table that an error of the server is about, of those of the statement; undefined if it says none. */
export function tableOf(error: unknown, tables: readonly string[]): string | undefined {
  return knownName(textOf(error, 'table') ?? '', tables)
}

function uniqueError(error: unknown, context: FailedStatement, cause: Error): VaultError {
  const table = context.shape?.name ?? textOf(error, 'table') ?? '(unknown)'
  const { uniqueColumns = new Map<string, readonly string[]>() } = context
  const index = knownName(textOf(error, 'constraint') ?? '', [...uniqueColumns.keys()])
  const columns = (index === undefined ? undefined : uniqueColumns.get(index)) ?? []
  return conflictError(table, columns, { index: positionOf(error, columns, context), cause })
}

/**
 * `unprocessable`: an entry of a B-tree has at most 2704 bytes after compression, and bytes are indexed whole; a row, the bytes of its page.
 * The statements here can reach no other limit.
 */
function tooLongError(error: unknown, { shape, written = [], start = 0 }: FailedStatement, cause: Error): VaultError {
  const table = shape?.name ?? textOf(error, 'table')
  const detail = { ...(table === undefined ? {} : { table }), ...(written.length === 1 ? { index: start } : {}) }
  const place = table === undefined ? 'a table' : `table "${table}"`
  const message = TOO_WIDE_ROUTINES.includes(textOf(error, 'routine') ?? '')
    ? `A row of ${place} takes more than the ${MAX_ROW_BYTES} bytes of a row of PostgreSQL. Leave plain values out, or seal their columns.`
    : `A value of ${place} is too long for its index in PostgreSQL. Shorten it, or remove the index of its column.`
  return new VaultError('unprocessable', message, detail, { cause })
}

/** Where the server refuses a row, and not an entry of an index. */
const TOO_WIDE_ROUTINES = ['RelationGetBufferForTuple', 'raw_heap_insert']

/**
 * The position of the row whose cells the engine's detail quotes. Where two rows of one request share the key, the later
 * one is named: it could not be stored in any case. Long texts that begin alike cannot be distinguished: no row is named then.
 */
function positionOf(error: unknown, columns: readonly string[], context: FailedStatement): number | undefined {
  const { shape, written = [], start = 0 } = context
  if (written.length === 1) return start
  const detail = textOf(error, 'detail')
  if (detail === undefined || shape === undefined || columns.length === 0) return undefined
  const positions: number[] = []
  let isSure = true
  for (const [position, cells] of written.entries()) {
    if (columns.some((column) => cells[column] === undefined)) continue
    const { text, isWhole } = keyOf(shape, columns, cells)
    if (!detail.includes(`=${text}`)) continue
    positions.push(start + position)
    isSure &&= isWhole
  }
  return isSure || positions.length === 1 ? (positions[1] ?? positions[0]) : undefined
}

function keyOf({ table, types }: TableShape, columns: readonly string[], cells: Readonly<Record<string, Cell>>) {
  const index = table.indexes.find((index) => index.unique && index.columns === columns) ?? { columns, unique: true }
  return printedKey(table, index, (column) => {
    const wire = toWireCell(types.get(column) ?? 'text', cells[column] ?? null)
    return Buffer.isBuffer(wire) ? `\\x${wire.toString('hex')}` : wire
  })
}

function textOf(error: unknown, field: string): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const value: unknown = Reflect.get(error, field)
  return typeof value === 'string' ? value : undefined
}

export const ENGINE = 'PostgreSQL'
/** Bytes of a row in a page of 8 kB at most. */
export const MAX_ROW_BYTES = 8160

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
function setupErrorOf(state: string, cause: Error): VaultError | undefined {
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
interface ConnectFailure {
  readonly code: string | undefined
  readonly text: string
}

/** `unavailable`: no connection. */
function noConnectionError({ code = '', text }: ConnectFailure, cause: Error): VaultError {
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
