/** Options of `postgresStorage` and their checks: time limits with the settings of the server for them, TLS, and what is no pool. */
import { VaultError } from '../../core/errors.ts'
import { assertOptions, readOptions } from '../../core/util/options.ts'

/** Time limits in milliseconds, each a whole number from 1 to 2,147,483,647. */
export interface PostgresTimeouts {
  /** Longest wait for a connection, new or from the pool. Default 30,000, or 5,000 more than `statementMs` if that is less. */
  readonly connectMs?: number
  /**
   * Longest run of a statement on the server, which then rolls it back. Default 60,000, unless the role, the database or the connection
   * string sets `statement_timeout`. If no answer arrives in twice this time, at most 5 seconds more, the connection is closed.
   */
  readonly statementMs?: number
  /**
   * Longest pause between two statements of a transaction, after which the server ends it. Default 60,000, unless
   * `idle_in_transaction_session_timeout` is set. This is how long locks of a process remain whose network went silent.
   */
  readonly idleInTransactionMs?: number
  /** Longest wait of `close()` for running calls. Then their connections are closed. Default 10,000. */
  readonly closeMs?: number
}

/** All limits, and the settings of the server that follow from them. */
export interface Timeouts {
  readonly connectMs: number
  readonly closeMs: number
  /** How long a connection may leave a statement without an answer. */
  readonly silenceMs: number
  readonly settings: readonly Setting[]
}

/** A setting of the server in milliseconds. One that was not asked for yields to a value that is set elsewhere. */
interface Setting {
  readonly name: 'statement_timeout' | 'idle_in_transaction_session_timeout'
  readonly ms: number
  readonly isDefault: boolean
}

const DEFAULTS: Readonly<Required<PostgresTimeouts>> = {
  connectMs: 30_000,
  statementMs: 60_000,
  idleInTransactionMs: 60_000,
  closeMs: 10_000,
}
/** Time at most for an answer to arrive after the server's own limit. */
const MAX_TRANSPORT_MS = 5_000
/** Highest value of a setting of PostgreSQL, and of a timer. */
const MAX_MS = 2_147_483_647

/** The limits to use. Throws `invalid_request` for one that is not a whole number of milliseconds. */
export function parseTimeouts(given: PostgresTimeouts = {}): Timeouts {
  assertOptions<PostgresTimeouts>(given, Object.keys(DEFAULTS) as (keyof PostgresTimeouts)[], {
    of: 'postgresStorage',
    member: 'timeouts',
  })
  for (const [name, ms] of Object.entries(given)) assertTimeout(name, ms)
  const { statementMs, idleInTransactionMs, closeMs } = { ...DEFAULTS, ...given }
  return {
    connectMs: given.connectMs ?? Math.min(DEFAULTS.connectMs, statementMs + MAX_TRANSPORT_MS),
    closeMs,
    silenceMs: Math.min(MAX_MS, statementMs + Math.min(statementMs, MAX_TRANSPORT_MS)),
    settings: [
      { name: 'statement_timeout', ms: statementMs, isDefault: given.statementMs === undefined },
      {
        name: 'idle_in_transaction_session_timeout',
        ms: idleInTransactionMs,
        isDefault: given.idleInTransactionMs === undefined,
      },
    ],
  }
}

function assertTimeout(name: string, ms: unknown): void {
  if (ms === undefined || (typeof ms === 'number' && Number.isInteger(ms) && ms >= 1 && ms <= MAX_MS)) return
  throw new VaultError('invalid_request', `timeouts.${name} must be a whole number of milliseconds from 1 to ${MAX_MS}.`)
}

/** The statements that set the limits of a session, or of the transaction that is open. */
export function settingStatements({ settings }: Timeouts, scope: 'session' | 'transaction'): string {
  const isLocal = scope === 'transaction'
  return settings
    .map(({ name, ms, isDefault }) =>
      isDefault
        ? `select pg_catalog.set_config('${name}', '${ms}', ${isLocal}) where pg_catalog.current_setting('${name}') = '0'`
        : `set ${isLocal ? 'local ' : ''}${name} = ${ms}`,
    )
    .join('; ')
}

/** Certificates of TLS, as those of `tls.connect` of Node. Texts are in PEM. */
export interface PostgresTls {
  /** The authorities that the certificate of the server must come from. Default: those of Node. */
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[]
  /** The certificate of the client, where the server asks for one. */
  readonly cert?: string | Uint8Array
  /** The private key of the client, and its passphrase if it is encrypted. */
  readonly key?: string | Uint8Array
  readonly passphrase?: string
  /** The name that the certificate of the server must have. Default: the host of the address. */
  readonly servername?: string
  /** False: the connection is encrypted, and the certificate is not checked, so an attacker on the network can be the server. Default true. */
  readonly rejectUnauthorized?: boolean
}

/** Checks of the members. Each returns whether a value fits. */
const MEMBERS: Readonly<Record<keyof PostgresTls, (value: unknown) => boolean>> = {
  ca: (value) => [value].flat().every(isPem),
  cert: isPem,
  key: isPem,
  passphrase: isText,
  servername: isText,
  rejectUnauthorized: (value) => typeof value === 'boolean',
}

/** The parameters of an address that say how TLS is used. */
const OF_ADDRESS = ['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation']

/** Returns the option `ssl`. Throws `invalid_request` for another value, and if the address says it too: the driver would read the address alone. */
export function parseTls(connectionString: string, ssl: unknown): boolean | PostgresTls | undefined {
  if (ssl === undefined) return undefined
  const address = new URLSearchParams(connectionString.split('?')[1])
  const twice = OF_ADDRESS.find((name) => address.has(name))
  if (twice !== undefined) throw invalid(`TLS is set by option "ssl" and by "${twice}" of connectionString. Keep one of them.`)
  if (typeof ssl === 'boolean') return ssl
  if (typeof ssl !== 'object') throw invalid('Option "ssl" must be true, false or an object, such as { ca }.')
  const names = Object.keys(MEMBERS) as (keyof PostgresTls)[]
  const given = readOptions<PostgresTls>(ssl as PostgresTls, names, { of: 'postgresStorage', member: 'ssl' })
  const wrong = names.find((name) => given[name] !== undefined && !MEMBERS[name](given[name]))
  if (wrong !== undefined) throw invalid(`ssl.${wrong} is not valid. See PostgresTls.`)
  return given
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isPem(value: unknown): boolean {
  return isText(value) || value instanceof Uint8Array
}

function invalid(problem: string): VaultError {
  return new VaultError('invalid_request', `postgresStorage: ${problem}`)
}

const GIVE_ANOTHER = 'Give new Pool(…) of the package pg, or a connectionString.'

/** A thing that is no pool, what it is recognized by, and the sentence. The first that fits is said. */
const MISTAKES: readonly (readonly [isIt: (given: Given) => boolean, sentence: string])[] = [
  [({ type }) => type === 'string', 'The option pool is a text. Give an address as connectionString.'],
  [({ has }) => has('then'), 'The option pool is a promise. Await it, and give what it resolves to.'],
  [({ has }) => has('unsafe', 'begin'), `The option pool is postgres.js, whose connections are not those of pg. ${GIVE_ANOTHER}`],
  [
    ({ type, has }) => type === 'function' && has('query', 'transaction'),
    'The option pool is the HTTP client of Neon, which has no transactions. Give a Pool of @neondatabase/serverless, or a connectionString.',
  ],
  [
    ({ has }) => has('execProtocolRaw'),
    'The option pool is a PGlite, which is one session. Give a pool around it, as docs/postgres.md shows.',
  ],
  [({ type }) => type === 'function', `The option pool is a function or a class. ${GIVE_ANOTHER}`],
  [({ has }) => has('connect', 'escapeIdentifier'), `The option pool is a single client. ${GIVE_ANOTHER}`],
  [({ has }) => !has('connect'), `The option pool has no method connect, so it is no pool of pg. ${GIVE_ANOTHER}`],
]

/** What was given, as it can be recognized. */
interface Given {
  readonly type: string
  /** True if all of these are members. */
  has(...names: readonly string[]): boolean
}

/** Returns why this is no pool; undefined if it may be one. */
export function poolMistake(given: unknown): string | undefined {
  const type = typeof given
  const members = type === 'function' || (type === 'object' && given !== null) ? Object(given) : {}
  const has = (...names: readonly string[]) => names.every((name) => typeof memberOf(members, name) === 'function')
  return MISTAKES.find(([isIt]) => isIt({ type, has }))?.[1]
}

/** A getter or a proxy can throw, with any text. */
function memberOf(members: object, name: string): unknown {
  try {
    return Reflect.get(members, name)
  } catch {
    return undefined
  }
}
