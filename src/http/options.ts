/** The options of a handler, their checks, and its log. */
import { readOptions } from '../core/util/options.ts'
import { VaultError } from '../index.ts'
import type { Authenticate } from './credentials/authenticate.ts'
import { type Names, parseNames } from './names.ts'
import type { AddressOptions } from './router/request-context.ts'
import type { VaultSource, VaultsOfAccount } from './vaults/vault-directory.ts'

/** Limits of requests. */
export interface HttpLimits {
  /** Maximum length of a JSON body in bytes. Default 10 MB. */
  readonly maxBodyBytes: number
  /** Maximum number of values of any kind in a JSON body. Default 100,000. */
  readonly maxJsonValues: number
  /** Maximum `limit` of a page of records. Default 25. */
  readonly maxPageSize: number
  /** Maximum number of records of a query, up to `limits.maxQueryRecords` of the vault. Default 25. */
  readonly maxQueryRecords: number
}

/** Options of `createHandler`. */
export interface HandlerOptions extends AddressOptions {
  /** The vaults to serve: one, a list, or a function that opens one by its id. */
  readonly vaults: VaultSource
  /** Time after which a vault that a function opened, and that no request uses, is closed, in milliseconds. Default: 10 minutes. */
  readonly vaultIdleMs?: number
  /** Returns the ids of the vaults of an account, for listing their audit events together, if a function opens vaults. */
  readonly vaultsOfAccount?: VaultsOfAccount
  /** Checks credentials, such as `jwt({ … })`; a list is tried in order. */
  readonly authenticate: Authenticate | readonly Authenticate[]
  /** Where the handler is mounted: a path such as `/vault`, or an URL, which also begins the URLs of files. Default: the root, and the host of each request. */
  readonly baseUrl?: string
  /** The `tokenURI` of key files, which the assertions of service accounts name. Default: the URL of the token route. */
  readonly tokenURI?: string | readonly string[]
  /** The names of record ids on the wire. */
  readonly names?: Partial<Names>
  /** Tables that also have the legacy routes. Default: `LEGACY_TABLES`. */
  readonly legacyTables?: readonly string[]
  readonly limits?: Partial<HttpLimits>
  /** Serves the console under `/console`. Default: false. */
  readonly console?: boolean
  /** Receives failures that no vault records, in the shape of pino. Default: no log. */
  readonly log?: HttpLog
  /** Called for each request whose credential is missing, malformed or refused, for limits of rates. Its errors change no response. */
  readonly onRefused?: OnRefused
}

/** Gets a refused credential as it was sent, if it was well-formed, and the address of its client as events have it. It must not be logged. */
export type OnRefused = (refused: { readonly credential: string | undefined; readonly address: string | undefined }) => void

/** The checked options. */
export interface RouterOptions {
  readonly names: Names
  readonly legacyTables: readonly string[]
  readonly limits: HttpLimits
  /** Path under which routes begin; empty for the root. */
  readonly basePath: string
  /** Scheme and host of URLs in responses; undefined for those of each request. */
  readonly origin: string | undefined
  /** The audiences that assertions of service accounts can name; undefined for the URL of the token route. */
  readonly tokenURI: string | readonly string[] | undefined
}

/** The tables of the legacy routes. Source: specification, "Per-table legacy routes". */
export const LEGACY_TABLES = [
  'bank_accounts',
  'cards',
  'consumers',
  'credit_scores',
  'financial_service_providers',
  'merchants',
  'transactions',
] as const

const DEFAULT_LIMITS: HttpLimits = {
  maxBodyBytes: 10_000_000,
  maxJsonValues: 100_000,
  maxPageSize: 25,
  maxQueryRecords: 25,
}

const HANDLER_OPTIONS = [
  'vaults',
  'vaultIdleMs',
  'vaultsOfAccount',
  'authenticate',
  'baseUrl',
  'tokenURI',
  'names',
  'legacyTables',
  'limits',
  'console',
  'log',
  'onRefused',
  'trustedProxies',
  'forwardedHeader',
] as const satisfies readonly (keyof HandlerOptions)[]

/** Returns a copy of what the host passes. Throws `invalid_request` for an option that is unknown or null. */
export function readHandlerOptions(options: HandlerOptions): HandlerOptions {
  return readOptions(options, HANDLER_OPTIONS, { of: 'createHandler' })
}

/** Returns the checked options. Throws `invalid_request` that names the first one that is wrong. */
export function parseOptions(options: HandlerOptions): RouterOptions {
  assertAuthenticate(options.authenticate)
  const { legacyTables = LEGACY_TABLES } = options
  if (!Array.isArray(legacyTables) || !legacyTables.every((name) => typeof name === 'string' && /^[a-z][a-z0-9_]*$/.test(name)))
    throw new VaultError('invalid_request', 'Option "legacyTables" must be an array of table names.')
  assertVaultOptions(options)
  return {
    names: parseNames(options.names),
    legacyTables,
    limits: parseLimits(options.limits),
    tokenURI: parseTokenURI(options.tokenURI),
    ...parseBaseUrl(options.baseUrl),
  }
}

function assertAuthenticate(given: unknown): void {
  const all: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (!all.every((one) => typeof one === 'function'))
    throw new VaultError(
      'invalid_request',
      'Option "authenticate" must be an authenticator, such as apiKeys(), or a list of them.',
    )
}

function assertVaultOptions({ vaultIdleMs = 1, vaultsOfAccount, onRefused, console = false }: HandlerOptions): void {
  if (!Number.isInteger(vaultIdleMs) || vaultIdleMs < 1 || vaultIdleMs > MAX_TIMER_MS)
    throw new VaultError('invalid_request', `Option "vaultIdleMs" must be an integer from 1 to ${MAX_TIMER_MS}.`)
  if (vaultsOfAccount !== undefined && typeof vaultsOfAccount !== 'function')
    throw new VaultError('invalid_request', 'Option "vaultsOfAccount" must be a function.')
  if (onRefused !== undefined && typeof onRefused !== 'function')
    throw new VaultError('invalid_request', 'Option "onRefused" must be a function.')
  if (typeof console !== 'boolean') throw new VaultError('invalid_request', 'Option "console" must be true or false.')
}

/** A longer timer would end at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

function parseTokenURI(tokenURI: HandlerOptions['tokenURI']): HandlerOptions['tokenURI'] {
  const all: readonly unknown[] = tokenURI === undefined ? [] : [tokenURI].flat()
  if (tokenURI !== undefined && (all.length === 0 || !all.every((uri) => typeof uri === 'string' && URL.canParse(uri))))
    throw new VaultError('invalid_request', 'Option "tokenURI" must be an URL, or an array of URLs.')
  return tokenURI
}

function parseLimits(given: Partial<HttpLimits> = {}): HttpLimits {
  const names = ['maxBodyBytes', 'maxJsonValues', 'maxPageSize', 'maxQueryRecords'] as const
  const limits = { ...DEFAULT_LIMITS, ...readOptions(given, names, { of: 'createHandler', member: 'limits' }) }
  for (const name of names) {
    if (!Number.isSafeInteger(limits[name]) || limits[name] < 1)
      throw new VaultError('invalid_request', `Option "limits.${name}" must be an integer from 1.`)
  }
  return limits
}

function parseBaseUrl(baseUrl = ''): Pick<RouterOptions, 'basePath' | 'origin'> {
  const isPath = baseUrl === '' || baseUrl.startsWith('/')
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (!isPath && (url === undefined || !['http:', 'https:'].includes(url.protocol) || url.search !== '' || url.hash !== ''))
    throw new VaultError('invalid_request', 'Option "baseUrl" must be a path such as "/vault", or an http or https URL.')
  const path = url === undefined ? baseUrl : url.pathname
  return { basePath: path.replace(/\/+$/, ''), origin: url?.origin }
}

/** A log in the shape of pino. Fields never hold a value or a credential. */
export interface HttpLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Returns a log that never throws: whatever that of the host does, no response changes. */
export function safeLog(log: HttpLog | undefined): HttpLog {
  const safely = (write: () => void): void => {
    try {
      write()
    } catch {
      // There is no other place to report it.
    }
  }
  return {
    warn: (fields, message) => safely(() => log?.warn(fields, message)),
    error: (fields, message) => safely(() => log?.error(fields, message)),
  }
}
