/** The sections `http` and `server` of the config: what the handler answers, and how it is served. */
import * as z from 'zod'

/** A TCP port; 0 takes a free one. */
const port = z.int().min(0).max(65_535)
/** A time in milliseconds that a timer can wait. */
const ms = z.int().min(1).max(2 ** 31 - 1)
const count = z.int().min(1)
const text = z.string().min(1).max(1000)

/** Where a claim of a JWT is; names are joined by dots. */
const claim = z.strictObject({ claim: text })

const issuerShape = z.strictObject({
  issuer: text,
  audience: z.union([text, z.array(text).min(1)]),
  algorithms: z.array(text).min(1),
  jwks: text,
  mode: z.enum(['IDP_JWT', 'PAT_JWT', 'SERVICE_ACCOUNT_JWT']).optional(),
  /** The claim with the list of vaults that a token is for, or `all` if each of its tokens is for this vault. */
  vaults: z.union([z.literal('all'), claim]),
})

/** Which kinds of credentials are accepted. */
const credentialsShape = z.strictObject({
  apiKeys: z.boolean().default(true),
  serviceAccounts: z.boolean().default(true),
  jwt: z
    .strictObject({
      issuers: z.array(issuerShape).min(1),
      /** The claim with the list of roles. */
      roles: claim,
      /** The claim with the name of the caller in events. */
      actor: claim.optional(),
    })
    .optional(),
})

/** What the handler answers. The members are options of `createHandler`, which checks them. */
export const httpShape = z.strictObject({
  credentials: credentialsShape.prefault({}),
  baseUrl: z.string().optional(),
  tokenURI: z.union([text, z.array(text).min(1)]).optional(),
  names: z.strictObject({ id: text, ids: text, fileId: text }).partial().optional(),
  legacyTables: z.array(text).optional(),
  limits: z
    .strictObject({ maxBodyBytes: count, maxJsonValues: count, maxPageSize: count, maxQueryRecords: count })
    .partial()
    .optional(),
  /** Addresses and networks of proxies whose word for the address of a client counts, or how many every request passes. */
  trustedProxies: z.union([z.array(text), z.int().min(0)]).optional(),
  forwardedHeader: z.enum(['x-forwarded-for', 'forwarded']).optional(),
})

/** An origin as browsers send it, or `*` for all. */
const origin = z.string().regex(/^(\*|https?:\/\/[a-z0-9.[\]:-]+)$/, 'must be an origin such as https://app.example, or *')

/** How the handler is served. Names of files are relative to the config. */
export const serverShape = z.strictObject({
  port: port.default(8420),
  host: text.default('127.0.0.1'),
  /** Processes that answer requests. */
  workers: z.int().min(1).max(64).default(1),
  /** PEM files of the certificate and its key. Without them a proxy ends TLS, or the network is trusted. */
  tls: z.strictObject({ cert: text, key: text }).optional(),
  /** Where /live, /ready and /metrics are. */
  health: z.strictObject({ port: port.default(8421), host: text.default('127.0.0.1') }).prefault({}),
  /** Origins whose pages may call the vault from a browser. */
  origins: z.array(origin).default([]),
  limits: z
    .strictObject({
      /** Open connections, of all workers together. */
      connections: count.default(1024),
      /** Until the headers of a request are received. */
      headersMs: ms.default(10_000),
      /** Until a request is received with its body. */
      requestMs: ms.default(300_000),
      /** For which an idle connection is kept. */
      keepAliveMs: ms.default(5_000),
      /** Refused credentials of one address in a minute, before it is answered 429. */
      failuresPerSource: count.default(60),
      /** Refused credentials of one key id in a minute. */
      failuresPerKey: count.default(60),
      /** Addresses, and key ids, that are remembered. */
      remembered: count.default(10_000),
    })
    .prefault({}),
  shutdown: z
    .strictObject({
      /** For which requests are still accepted after SIGTERM, while /ready answers 503. */
      delayMs: z.int().min(0).max(600_000).default(0),
      /** After which connections that are still busy are cut. */
      limitMs: ms.default(30_000),
    })
    .prefault({}),
  /** For which a storage or key service that is away is tried again at the start. */
  startMs: z.int().min(0).max(2 ** 31 - 1).default(0),
  log: z
    .strictObject({ level: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'), requests: z.boolean().default(false) })
    .prefault({}),
  /** Between two purges of what has expired; 0 for none. */
  purgeMs: z.int().min(0).max(2 ** 31 - 1).default(3_600_000),
})

/** The checked sections. */
export type HttpSection = z.output<typeof httpShape>
export type ServerSection = z.output<typeof serverShape>
