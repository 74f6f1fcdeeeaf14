/** What the parts of a configuration must be that `strongroom serve` uses, and what they are where they are absent. */
import * as z from 'zod'

/** A TCP port; 0 takes a free one. */
const port = z.int().min(0).max(65_535)
/** What a timer can wait, in milliseconds. */
const ms = z
  .int()
  .min(1)
  .max(2 ** 31 - 1)
const msOrNone = z
  .int()
  .min(0)
  .max(2 ** 31 - 1)
const count = z.int().min(1)
const text = z.string().min(1).max(1000)
const texts = z.union([text, z.array(text).min(1)], 'must be a text or a list of texts')
const claim = z.strictObject({ claim: text })

const issuerShape = z.strictObject({
  issuer: text,
  audience: texts,
  algorithms: z.array(text).min(1),
  jwks: text,
  mode: z.enum(['IDP_JWT', 'PAT_JWT', 'SERVICE_ACCOUNT_JWT']).optional(),
  vaults: z.union([z.literal('all'), claim], 'must be "all" or { claim }'),
})

const credentialsShape = z.strictObject({
  apiKeys: z.boolean().optional(),
  serviceAccounts: z.boolean().optional(),
  jwt: z.strictObject({ issuers: z.array(issuerShape).min(1), roles: claim, actor: claim.optional() }).optional(),
})

/** The handler checks the values of its options itself, and knows more of them. */
export const httpShape = z.strictObject({
  credentials: credentialsShape.optional(),
  baseUrl: z.string().optional(),
  tokenURI: texts.optional(),
  names: z.record(z.string(), z.string()).optional(),
  legacyTables: z.array(z.string()).optional(),
  limits: z.record(z.string(), z.int()).optional(),
  console: z.boolean().optional(),
  trustedProxies: z.union([z.array(text), z.int().min(0)], 'must be a list of addresses and networks, or a number').optional(),
  forwardedHeader: z.enum(['x-forwarded-for', 'forwarded']).optional(),
})

/** As browsers send it: without a slash at its end. */
const origin = z.string().regex(/^(\*|https?:\/\/[a-z0-9.[\]:-]+)$/, 'must be an origin such as https://app.example, or *')

export const serverShape = z.strictObject({
  port: port.default(8420),
  host: text.default('127.0.0.1'),
  workers: z.int().min(1).max(64).default(1),
  tls: z.strictObject({ cert: text, key: text }).optional(),
  health: z.strictObject({ port: port.default(8421), host: text.default('127.0.0.1') }).prefault({}),
  origins: z.array(origin).default([]),
  limits: z
    .strictObject({
      connections: count.default(1024),
      headersMs: ms.default(10_000),
      requestMs: ms.default(300_000),
      keepAliveMs: ms.default(5000),
      failuresPerSource: count.default(60),
      failuresPerKey: count.default(60),
      remembered: count.default(10_000),
    })
    .prefault({}),
  shutdown: z.strictObject({ delayMs: z.int().min(0).max(600_000).default(0), limitMs: ms.default(30_000) }).prefault({}),
  startMs: msOrNone.default(0),
  log: z
    .strictObject({
      level: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
      requests: z.boolean().default(false),
    })
    .prefault({}),
  sweepMs: msOrNone.default(3_600_000),
})

/** The settings of the server, with every default. */
export type ServerSettings = z.output<typeof serverShape>
