/** The parts of strongroom.config.ts that `strongroom serve` uses. */
import type { HandlerOptions, JwtAlgorithm, JwtMode } from '../../http/index.ts'

/** Where a claim of a JWT is. Names of nested claims are joined by dots, as in `realm_access.roles`. */
export interface ClaimConfig {
  readonly claim: string
}

/** An issuer of JWTs. Members that are not explained here are those of `jwt`. */
export interface IssuerConfig {
  readonly issuer: string
  readonly audience: string | readonly string[]
  readonly algorithms: readonly JwtAlgorithm[]
  readonly jwks: string
  readonly mode?: JwtMode
  /** The claim with the list of vaults that a token is for, or `all` if each of its tokens is for this vault. */
  readonly vaults: 'all' | ClaimConfig
}

/** The credentials that are accepted. */
export interface CredentialsConfig {
  /** Default true. */
  readonly apiKeys?: boolean
  /** Default true. */
  readonly serviceAccounts?: boolean
  readonly jwt?: {
    readonly issuers: readonly IssuerConfig[]
    /** The claim with the list of roles. */
    readonly roles: ClaimConfig
    /** The claim with the name of the caller in events. Default: that of `jwt`. */
    readonly actor?: ClaimConfig
  }
}

/** Options of the HTTP interface. Members that are not explained here are those of `createHandler`. */
export interface HttpConfig
  extends Pick<
    HandlerOptions,
    'baseUrl' | 'tokenURI' | 'names' | 'legacyTables' | 'limits' | 'console' | 'trustedProxies' | 'forwardedHeader'
  > {
  /** Default: API keys and service accounts. */
  readonly credentials?: CredentialsConfig
}

/** Options of the server. Times are in milliseconds. */
export interface ServerConfig {
  /** Port of the interface; 0 takes a free one. Default 8420. */
  readonly port?: number
  /** Address to listen at. Default 127.0.0.1. */
  readonly host?: string
  /** Processes that answer requests. Default 1. */
  readonly workers?: number
  /** PEM files of the certificate and its key. Default: a proxy ends TLS, or the network is trusted. */
  readonly tls?: { readonly cert: string; readonly key: string }
  /** Where /live, /ready and /metrics are. Default 8421 at 127.0.0.1. */
  readonly health?: { readonly port?: number; readonly host?: string }
  /** Origins whose pages may call the vault from a browser, such as `https://app.example`; `*` for all. Default: none. */
  readonly origins?: readonly string[]
  readonly limits?: {
    /** Open connections, of all workers together. Default 1,024. */
    readonly connections?: number
    /** Until the headers of a request are received. Default 10,000. */
    readonly headersMs?: number
    /** Until a request is received with its body. Default 300,000. */
    readonly requestMs?: number
    /** For which an idle connection is kept. Default 5,000. */
    readonly keepAliveMs?: number
    /** Refused credentials of one address in a minute, before it is answered 429. Default 60. */
    readonly failuresPerSource?: number
    /** Refused credentials of one key id in a minute. Default 60. */
    readonly failuresPerKey?: number
    /** Addresses, and key ids, that are remembered. Default 10,000. */
    readonly remembered?: number
  }
  readonly shutdown?: {
    /** For which requests are still accepted after SIGTERM, while /ready answers 503. Default 0. */
    readonly delayMs?: number
    /** After which connections that are still busy are cut. Default 30,000. */
    readonly limitMs?: number
  }
  /** For which a storage or key service that is away is tried again at the start. Default 0: not again. */
  readonly startMs?: number
  readonly log?: {
    /** Default `info`. */
    readonly level?: 'debug' | 'info' | 'warn' | 'error' | 'silent'
    /** Whether each request leaves a line. Default false. */
    readonly requests?: boolean
  }
  /** Between two sweeps of what has expired; 0 for none. Default: an hour. */
  readonly sweepMs?: number
}
